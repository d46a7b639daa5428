"""JSON from anybody."""

import pytest

from pilotage.config.documents import LARGEST, Unreadable
from pilotage.config.json_text import json_document, looks_like_json


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b' \n{"a": 1}', True, id="a brace after blanks"),
        pytest.param(b"a: {}", False, id="a brace later on"),
        pytest.param(b"[]", False, id="a list is YAML"),
        pytest.param(b"", False, id="nothing"),
    ],
)
def test_what_looks_like_json(data: bytes, expected: bool) -> None:
    assert looks_like_json(data) is expected


def test_the_value_and_its_lines() -> None:
    document = json_document(b'{"a":\n {"b": [1, 2.0, "\\ud83d\\ude00"]}}', "f.json")
    assert document.value == {"a": {"b": [1, 2.0, "\N{GRINNING FACE}"]}}
    assert document.spot(("a", "b", 1)).line == 2


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(b'{"a": 1,\n"a": 2}', 'key "a" already set in map', id="a key twice"),
        pytest.param(b"{a: 1}", "line 1: invalid JSON", id="YAML in braces"),
        pytest.param(b'{"a": 1}\n{}', "line 2: invalid JSON: Extra data", id="two texts"),
        pytest.param(b'{"a": NaN}', "NaN is not a number", id="no number"),
        pytest.param(b'{"a": "\\ud800"}', "invalid JSON", id="half a character"),
        pytest.param(b'{"a": \xff}', "invalid JSON", id="no UTF-8"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", "invalid JSON", id="a number without end"),
        pytest.param(b'{"a":' * 101 + b"1" + b"}" * 101, "nested deeper than 100 levels", id="a bit too deep"),
        pytest.param(b'{"a":' + b" " * LARGEST + b"1}", "larger than 1048576 bytes", id="too large"),
        pytest.param(b'{"a":' + b"[" * 200_000, "nested deeper than 100 levels", id="much too deep"),
    ],
)
def test_refused(data: bytes, told: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        json_document(data, "f.json")
    assert told in str(refusal.value)
