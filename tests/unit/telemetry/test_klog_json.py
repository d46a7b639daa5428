"""JSON lines: each can be read, and says what the record said."""

import json
import logging
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pilotage.telemetry.klog_json import KlogJson
from pilotage.telemetry.verbosity import V2

ANYTHING = st.text() | st.integers() | st.floats() | st.booleans() | st.none() | st.binary() | st.lists(st.text())


def record(message: str, *, level: int = logging.INFO, **values: object) -> logging.LogRecord:
    """Return a record as the module cycle would make it."""
    made = logging.LogRecord("pilotage.x", level, "/some/where/cycle.py", 42, message, None, None)
    made.values = values
    return made


def strict(line: str) -> dict[str, Any]:
    """Read a line as any JSON reader does; NaN is none of JSON's numbers."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found: dict[str, Any] = json.loads(line, parse_constant=refuse)
    return found


def test_a_line_has_the_names_that_kubernetes_gives() -> None:
    made = record("Successfully bound pod to node", level=V2, pod="a/b", evaluatedNodes=3, lag=0.5)
    made.created = 1794841713.25
    assert strict(KlogJson().format(made)) == {
        "ts": 1794841713250.0,
        "level": "info",
        "caller": "cycle.py:42",
        "msg": "Successfully bound pod to node",
        "v": 2,
        "pod": "a/b",
        "evaluatedNodes": 3,
        "lag": 0.5,
    }


def test_an_error_has_no_verbosity_but_what_went_wrong() -> None:
    made = record("Broken", level=logging.ERROR)
    try:
        raise KeyError("x")
    except KeyError:
        made.exc_info = sys.exc_info()
    found = strict(KlogJson().format(made))
    assert "v" not in found
    assert (found["level"], found["err"]) == ("error", "KeyError: 'x'")
    assert found["stack"].startswith("Traceback")


def test_a_value_cannot_take_the_place_of_the_message() -> None:
    found = strict(KlogJson().format(record("true", msg="false", ts=0)))
    assert (found["msg"], found["msg_"], found["ts_"]) == ("true", "false", 0)


@given(st.text(), st.dictionaries(st.text(), ANYTHING))
def test_one_record_is_one_line_of_json(message: str, values: dict[str, object]) -> None:
    made = record(message)
    made.values = values
    line = KlogJson().format(made)
    assert line.isascii()
    assert line.isprintable()
    assert {"ts", "caller", "msg", "v", *values} <= strict(line).keys()
