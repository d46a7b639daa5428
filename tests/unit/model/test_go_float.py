"""Numbers as Go's strconv.ParseFloat has them, without those that are infinite or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.go_float import finite_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10", 10),
        ("-0.25", -0.25),
        ("+5", 5),
        (".5", 0.5),
        ("1.", 1),
        ("1e-3", 0.001),
        ("1E3", 1000),
        ("007", 7),
        ("1_000.5", 1000.5),
        ("0x1p-2", 0.25),
        ("-0X1.8P1", -3),
        ("0x_10p0", 16),
        ("1e-999", 0),
    ],
)
def test_numbers(text: str, number: float) -> None:
    assert finite_number(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "NaN",
        "Inf",
        "-inf",
        "Infinity",
        "1e999",
        "0x1p9999",
        "0x10",
        "1__0",
        "_1",
        "1_",
        " 1",
        "1\n",
        "1,5",
        "٣",
        "1e",
        ".",
        "0b1",
        "1" * 300,
    ],
)
def test_what_is_no_number(text: str) -> None:
    assert finite_number(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_back(number: float) -> None:
    assert finite_number(repr(number)) == number
    assert finite_number(number.hex()) == number


@given(st.text(max_size=20))
def test_no_text_is_too_strange(text: str) -> None:
    assert isinstance(finite_number(text), float | None)
