"""The whole way from a module to stderr."""

import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator

import pytest

from pilotage.telemetry.log_writer import LineWriter
from pilotage.telemetry.logs import set_up_logs, tell
from pilotage.telemetry.verbosity import V2, V3, InvalidRule

log = logging.getLogger("pilotage.some.module")


@pytest.fixture
def read() -> Iterator[Callable[[], str]]:
    """Yield what returns all that was logged."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    root, switches = logging.getLogger(), ("logThreads", "logProcesses", "logMultiprocessing")
    before = root.handlers[:], root.level, {name: getattr(logging, name) for name in switches}
    levels = {name: logging.getLogger(name).level for name in ("aiohttp", "asyncio")}
    handler = LineWriter(writer)
    HANDLERS.append(handler)
    yield lambda: os.read(reader, 1 << 20).decode()
    HANDLERS.clear()
    logging.captureWarnings(False)
    root.handlers[:], level, kept = before
    root.setLevel(level)
    for name, value in kept.items():
        setattr(logging, name, value)
    for name, value in levels.items():
        logging.getLogger(name).setLevel(value)
    os.close(reader)
    os.close(writer)


HANDLERS: list[LineWriter] = []


def test_names_and_values_come_with_the_place_that_told_them(read: Callable[[], str]) -> None:
    set_up_logs(2, writer=HANDLERS[0])
    tell(log, V2, "Successfully bound pod to node", pod="default/web", node="n1", evaluatedNodes=3)
    tell(log, V3, "Attempting to schedule pod", pod="default/web")
    line = read()
    assert line.endswith('] "Successfully bound pod to node" pod="default/web" node="n1" evaluatedNodes=3\n')
    assert " test_logs.py:" in line


def test_plain_messages_of_anybody_go_the_same_way(read: Callable[[], str]) -> None:
    set_up_logs(writer=HANDLERS[0])
    log.info("pod %s is gone", "a/b\nc")
    logging.getLogger("asyncio").error("Task was destroyed\nbut it is pending")
    logging.getLogger("aiohttp.access").info("GET /metrics")
    assert [line.partition("] ")[2] for line in read().splitlines()] == [
        r'"pod a/b\nc is gone"',
        r'"Task was destroyed\nbut it is pending"',
    ]


def test_warnings_of_python_go_the_same_way(read: Callable[[], str]) -> None:
    set_up_logs(writer=HANDLERS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old\nways", UserWarning, stacklevel=1)
        logging.captureWarnings(False)
    [line] = read().splitlines()
    assert r"UserWarning: old\nways" in line


def test_json(read: Callable[[], str]) -> None:
    set_up_logs(2, json=True, writer=HANDLERS[0])
    tell(log, V2, "Bound", pod="a/b")
    log.error("Bad")
    first, second = map(json.loads, read().splitlines())
    assert (first["msg"], first["pod"], first["v"]) == ("Bound", "a/b", 2)
    assert second["level"] == "error"


def test_how_much_is_told_can_be_changed(read: Callable[[], str]) -> None:
    verbosity = set_up_logs(writer=HANDLERS[0])
    tell(log, V2, "unheard")
    verbosity.put(2)
    tell(log, V2, "heard")
    assert '"heard"' in read()


def test_a_bad_rule_is_refused_before_anything_changes(read: Callable[[], str]) -> None:
    handlers = logging.getLogger().handlers[:]
    with pytest.raises(InvalidRule):
        set_up_logs(vmodule="x", writer=HANDLERS[0])
    assert logging.getLogger().handlers == handlers
