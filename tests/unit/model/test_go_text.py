"""Strings and values as Go writes them."""

from typing import Any

import pytest

from pilotage.model.go_text import as_json, quoted, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", '""', id="nothing"),
        pytest.param("a b", '"a b"', id="a space stays"),
        pytest.param("<&>", '"<&>"', id="signs of web pages stay"),
        pytest.param("é", '"é"', id="a letter beyond ASCII stays"),
        pytest.param('"\\', r'"\"\\"', id="quotes and backslashes are escaped"),
        pytest.param("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"', id="signs with a letter of their own"),
        pytest.param("\x00\x1f\x7f", r'"\x00\x1f\x7f"', id="other control characters"),
        pytest.param("\x85\xa0\u200b\u2028", r'"\u0085\u00a0\u200b\u2028"', id="what is not to be seen"),
        pytest.param("\U000e0001", r'"\U000e0001"', id="what is not to be seen, far away"),
    ],
)
def test_quoted(text: str, expected: str) -> None:
    assert quoted(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("<&>\u2028\u2029", r'"\u003c\u0026\u003e\u2028\u2029"', id="safe in web pages and scripts"),
        pytest.param("\x7fé\u200b", '"\x7fé\u200b"', id="what is not to be seen stays"),
        pytest.param("\x01\n", r'"\u0001\n"', id="control characters"),
        pytest.param({"b": [1, None], "a": True}, '{"b":[1,null],"a":true}', id="compact, and in its order"),
    ],
)
def test_as_json(value: Any, expected: str) -> None:
    assert as_json(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("<", '"<"', id="a string is quoted"),
        pytest.param(["<"], r'["\u003c"]', id="a list is JSON"),
        pytest.param(5, "5", id="a number"),
        pytest.param(None, "null", id="nothing"),
    ],
)
def test_shown(value: Any, expected: str) -> None:
    assert shown(value) == expected
