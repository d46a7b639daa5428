"""Durations as Go reads and writes them."""

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from pilotage.config.durations import Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds", "written"),
    [
        pytest.param("15s", 15 * 10**9, "15s", id="seconds"),
        pytest.param("90s", 90 * 10**9, "1m30s", id="more than a minute"),
        pytest.param("1m30s", 90 * 10**9, "1m30s", id="two units"),
        pytest.param("1.5h", 5400 * 10**9, "1h30m0s", id="a fraction of an hour"),
        pytest.param("10m", 600 * 10**9, "10m0s", id="whole minutes"),
        pytest.param("100ms", 10**8, "100ms", id="milliseconds"),
        pytest.param("1500us", 1_500_000, "1.5ms", id="microseconds"),
        pytest.param("2µs", 2000, "2µs", id="with the micro sign"),
        pytest.param("2μs", 2000, "2µs", id="with the Greek letter"),
        pytest.param("1ns", 1, "1ns", id="the smallest"),
        pytest.param("-1.5s", -1_500_000_000, "-1.5s", id="negative"),
        pytest.param("+.5s", 500_000_000, "500ms", id="a plus and no digit before the point"),
        pytest.param("1.s", 10**9, "1s", id="no digit behind the point"),
        pytest.param("0", 0, "0s", id="zero needs no unit"),
        pytest.param("2562047h47m16.854775807s", 2**63 - 1, "2562047h47m16.854775807s", id="the longest"),
    ],
)
def test_read_and_written(text: str, nanoseconds: int, written: str) -> None:
    duration = Duration.parse(text)
    assert (int(duration), str(duration)) == (nanoseconds, written)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("15", id="no unit"),
        pytest.param("s", id="no number"),
        pytest.param("1 s", id="a space inside"),
        pytest.param("1s ", id="a space behind"),
        pytest.param("1s\n", id="a line end behind"),
        pytest.param("1d", id="days"),
        pytest.param("-", id="a sign alone"),
        pytest.param(".s", id="a point alone"),
        pytest.param("1e3s", id="a power"),
        pytest.param("2562048h", id="more than 64 bits hold"),
        pytest.param("\N{ARABIC-INDIC DIGIT ONE}s", id="digits of another script"),
        pytest.param("9" * 10**6 + "s", id="a million digits"),
    ],
)
def test_what_go_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time: invalid duration"):
        Duration.parse(text)


@given(integers(-(2**63) + 1, 2**63 - 1))
def test_what_is_written_reads_the_same(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == nanoseconds


def test_seconds() -> None:
    assert Duration.parse("1m0.5s").seconds == 60.5
