"""Bare words mean what they mean to kube-scheduler's reader, not what they mean to Python's."""

import pytest

from pilotage.config.scalars import Scalar, key_of, meaning_of


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        pytest.param("no", False, id="no is false"),
        pytest.param("N", False, id="so is the letter N"),
        pytest.param("off", False, id="and off"),
        pytest.param("y", True, id="y is true"),
        pytest.param("On", True, id="and On"),
        pytest.param("oN", "oN", id="but not in mixed letters"),
        pytest.param("", None, id="nothing is null"),
        pytest.param("~", None, id="the tilde too"),
        pytest.param("014", 12, id="a leading zero is octal"),
        pytest.param("0o14", 12, id="in the new spelling too"),
        pytest.param("08", 8.0, id="what cannot be octal is a decimal number"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("-0b101", -5, id="binary, negative"),
        pytest.param("1_000", 1000, id="underscores do not count"),
        pytest.param("+12", 12, id="a plus sign"),
        pytest.param("1:30", "1:30", id="no numbers of base sixty"),
        pytest.param("2001-01-01", "2001-01-01", id="a date is a word"),
        pytest.param("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z", id="so is a point in time"),
        pytest.param("1.5", 1.5, id="a fraction"),
        pytest.param("1.", 1.0, id="a fraction without digits behind"),
        pytest.param(".5e1", 5.0, id="a fraction without digits before"),
        pytest.param("1e3", 1000.0, id="a power"),
        pytest.param("1e400", "1e400", id="a power too large is a word"),
        pytest.param("18446744073709551615", 2**64 - 1, id="the largest whole number"),
        pytest.param("18446744073709551616", 2.0**64, id="one more is no whole number"),
        pytest.param("-9223372036854775809", -(2.0**63), id="nor one less than the smallest"),
        pytest.param("9" * 5000, "9" * 5000, id="a number of any length costs nothing"),
        pytest.param("1.2.3", "1.2.3", id="a version is a word"),
        pytest.param("10m", "10m", id="a quantity is a word"),
        pytest.param("-", "-", id="a dash is a word"),
        pytest.param(".inf", float("inf"), id="infinity"),
    ],
)
def test_meaning(word: str, meaning: Scalar) -> None:
    found = meaning_of(word)
    assert (found, type(found)) == (meaning, type(meaning))


@pytest.mark.parametrize(
    ("value", "key"),
    [
        pytest.param("a", "a", id="a word"),
        pytest.param(True, "true", id="yes as a key is true"),
        pytest.param(12, "12", id="a number"),
        pytest.param(1.5, "1.5", id="a fraction"),
        pytest.param(None, None, id="null is no key"),
    ],
)
def test_key(value: Scalar, key: str | None) -> None:
    assert key_of(value) == key
