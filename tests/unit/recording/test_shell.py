"""Commands are run as they are shown, and their lines are kept in the order in which they came."""

from pathlib import Path

import pytest

from localcluster.errors import Problem
from recording.shell import Shell
from recording.terminal import Line


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "note").write_text("one\ntwo\n")
    return Shell(tmp_path, Path("/bin/kubectl"), tmp_path / "kubeconfig")


def test_lines_have_seconds_from_the_start_of_the_clock_on(shell: Shell) -> None:
    shell.run("cat note")
    shell.start_clock()
    shell.run("cat note | grep t")
    before, after = shell.lines[:3], shell.lines[3:]
    assert before == [Line("$ cat note"), Line("one"), Line("two")]
    assert [line.text for line in after] == ["$ cat note | grep t", "two"]
    seconds = [line.seconds for line in after]
    assert None not in seconds
    assert seconds == sorted(seconds, key=lambda each: each or 0.0)


def test_a_command_in_the_background_is_ended_with_its_block(shell: Shell) -> None:
    with shell.behind("tail -n +1 -f note"):
        shell.until("two")
        shell.run("echo between")
    assert [line.text for line in shell.lines] == ["$ tail -n +1 -f note &", "one", "two", "$ echo between", "between"]


def test_a_command_that_fails_ends_the_recording_unless_it_may(shell: Shell) -> None:
    shell.run("diff note /dev/null", may_fail=True)
    with pytest.raises(Problem, match="'cat nowhere' ended with 1: cat: nowhere"):
        shell.run("cat nowhere")
