"""What kube-scheduler logs, read as it grows."""

from pathlib import Path

import pytest

from oracle.scheduler_log import Entry, NoAnswer, SchedulerLog, entries

HEAD = "I1116 11:53:47.423756   27835 schedule_one.go:984] "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '"Plugin scored node for pod" pod="default/p" plugin="NodeResourcesFit" node="n1" score=97',
            Entry(
                "Plugin scored node for pod",
                {"pod": "default/p", "plugin": "NodeResourcesFit", "node": "n1", "score": "97"},
            ),
            id="facts are quoted or plain",
        ),
        pytest.param(
            '"No fit" err="0/1 nodes: persistentvolumeclaim \\"c\\" not found."',
            Entry("No fit", {"err": '0/1 nodes: persistentvolumeclaim "c" not found.'}),
            id="quotes inside a fact are unquoted",
        ),
        pytest.param(
            '"Moved" pod="a/b" unschedulable plugins={"NodePorts":{},"NodeAffinity":{}}',
            Entry("Moved", {"pod": "a/b", "unschedulable plugins": '{"NodePorts":{},"NodeAffinity":{}}'}),
            id="a key may hold a blank, a value may be a structure",
        ),
        pytest.param(
            '"Error" err=<\n\tone\n\ttwo\n > pod="a/b"',
            Entry("Error", {"err": "one\ntwo", "pod": "a/b"}),
            id="a fact of several lines is one fact",
        ),
        pytest.param(
            '"Added node" node="n" zone="r:\\x00:z"',
            Entry("Added node", {"node": "n", "zone": "r:\0:z"}),
            id="bytes are written as Go writes them",
        ),
    ],
)
def test_a_message_has_facts(text: str, expected: Entry) -> None:
    assert entries((HEAD + text).split("\n")) == [expected]


def test_what_is_no_message_is_skipped() -> None:
    assert entries(["goroutine 1 [running]:", f'{HEAD}"Hello"']) == [Entry("Hello", {})]


def test_a_line_is_read_once_and_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f'{HEAD}"One"\n{HEAD}"Tw')
    log = SchedulerLog(path)
    assert [entry.message for entry in log.read()] == ["One"]
    with path.open("a") as file:
        file.write('o"\n')
    assert [entry.message for entry in log.read()] == ["Two"]
    assert log.read() == []
    log.close()


def test_what_was_read_can_be_forgotten_while_more_comes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f'{HEAD}"One"\n' * 1000)
    log = SchedulerLog(path)
    assert len(log.read()) == 1000
    with path.open("a") as file:
        log.forget()
        file.write(f'{HEAD}"Two"\n')
    assert [entry.message for entry in log.read()] == ["Two"]
    assert log.last_words(1).endswith('"Two"')
    log.close()


def test_waiting_shows_everything_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f'{HEAD}"One"\n{HEAD}"Two"\n')
    log, seen = SchedulerLog(path), []

    def satisfied(entry: Entry) -> bool:
        seen.append(entry.message)
        return entry.message == "One"

    log.wait_until(satisfied, "one")
    assert seen == ["One", "Two"]
    log.close()


def test_waiting_in_vain_tells_the_last_words(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f'{HEAD}"One"\n')
    log = SchedulerLog(path)
    with pytest.raises(NoAnswer, match=r'that it ends\n.*"One"'):
        log.wait_until(lambda _: False, "that it ends", seconds=0)
    log.close()
