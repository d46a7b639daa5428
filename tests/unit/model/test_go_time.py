"""Layouts and times as Go's time.Parse has them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.go_time import RFC3339, GoLayout, InvalidLayout

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
HOUR = 3600


@pytest.mark.parametrize(
    ("layout", "text", "seconds"),
    [
        pytest.param(RFC3339, "2024-01-01T00:00:00Z", 0, id="RFC 3339 in UTC"),
        pytest.param(RFC3339, "2024-01-01T02:30:00+02:30", 0, id="RFC 3339 east of it"),
        pytest.param(RFC3339, "2023-12-31T19:00:00-05:00", 0, id="RFC 3339 west of it"),
        pytest.param(RFC3339, "2024-01-01T00:00:00.25Z", 0.25, id="a fraction that the layout does not show"),
        pytest.param(RFC3339, "2024-01-01T00:00:00,25Z", 0.25, id="a fraction with a comma"),
        pytest.param("2006-01-02", "2024-01-02", 24 * HOUR, id="a date alone"),
        pytest.param("2006", "2024", 0, id="a year alone"),
        pytest.param("20060102150405", "20240101013000", 1.5 * HOUR, id="digits without anything between"),
        pytest.param("2006-01-02_15-04-05", "2024-01-01_01-00-00", HOUR, id="what a label can hold"),
        pytest.param("2006_01_02", "2024_01_02", 24 * HOUR, id="underscores before digits"),
        pytest.param("02_2006", "02_2024", 24 * HOUR, id="an underscore before the year"),
        pytest.param("2006-01-02 15:04:05 -0700", "2024-01-01 03:00:00 +0300", 0, id="an offset without a colon"),
        pytest.param("2006-01-02 15 -07", "2024-01-01 03 +03", 0, id="an offset of hours"),
        pytest.param("2006-01-02T15Z0700", "2024-01-01T00Z", 0, id="Z where an offset may be"),
        pytest.param("2006-01-02T15Z07:00:00", "2024-01-01T01+01:00:00", 0, id="an offset with seconds"),
        pytest.param("02 Jan 06 15:04 MST", "01 Jan 24 00:00 UTC", 0, id="RFC 822"),
        pytest.param("02 Jan 06 15:04 MST", "01 Jan 24 00:00 CEST", 0, id="a zone that nobody knows is UTC"),
        pytest.param("02 Jan 06 15:04 MST", "01 Jan 24 03:00 GMT+3", 0, id="a zone that says how far it is"),
        pytest.param("2006-01-02 15:04:05 -0700 MST", "2024-01-01 01:00:00 +0100 CET", 0, id="as Go writes them"),
        pytest.param("Mon, 02 Jan 2006 15:04:05 MST", "Mon, 01 Jan 2024 00:00:00 GMT", 0, id="RFC 1123"),
        pytest.param("Monday, 02-Jan-06 15:04:05 MST", "Monday, 01-Jan-24 00:00:00 UTC", 0, id="RFC 850"),
        pytest.param("Mon Jan _2 15:04:05 2006", "Mon Jan  1 00:00:00 2024", 0, id="ANSI C, a day with a space"),
        pytest.param("Mon Jan _2 15:04:05 2006", "Mon Jan 01 00:00:00 2024", 0, id="ANSI C, a day with a zero"),
        pytest.param("2 January 2006", "2 january 2024", 24 * HOUR, id="names in any case"),
        pytest.param("1/2/2006 3:4:5 PM", "1/1/2024 1:00:00 PM", 13 * HOUR, id="an hour of the afternoon"),
        pytest.param("1/2/2006 3:04 pm", "1/1/2024 12:00 am", 0, id="midnight of twelve hours"),
        pytest.param("1/2/2006 03:04PM", "1/1/2024 12:00PM", 12 * HOUR, id="noon of twelve hours"),
        pytest.param("2006-01-02T15:04:05.000Z07:00", "2024-01-01T00:00:00.125Z", 0.125, id="three digits"),
        pytest.param("2006-01-02T15:04:05.999Z07:00", "2024-01-01T00:00:00.5Z", 0.5, id="digits as there are"),
        pytest.param("2006-01-02T15:04:05.999Z07:00", "2024-01-01T00:00:00Z", 0, id="digits, but there are none"),
        pytest.param("2006.01.02", "2024.01.02", 24 * HOUR, id="a point that is no fraction"),
        pytest.param("2006.002", "2024.060", 59 * 24 * HOUR, id="a day of the year"),
        pytest.param("2006-01-02 15:04", "2024-01-01 1:00", HOUR, id="an hour of one digit"),
        pytest.param("on 2006-01-02", "on   2024-01-01", 0, id="spaces are one or many"),
    ],
)
def test_times_are_read(layout: str, text: str, seconds: float) -> None:
    assert GoLayout(layout).seconds(text) == NEW_YEAR + seconds


@pytest.mark.parametrize(("text", "year"), [("68", 2068), ("69", 1969)])
def test_years_of_two_digits(text: str, year: int) -> None:
    assert GoLayout("06").seconds(text) == datetime(year, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        pytest.param(RFC3339, "", id="nothing"),
        pytest.param(RFC3339, "yesterday", id="a word"),
        pytest.param(RFC3339, "2024-01-01", id="too little"),
        pytest.param(RFC3339, "2024-01-01T00:00:00Z ", id="too much"),
        pytest.param(RFC3339, "2024-01-01T00:00:00", id="no zone"),
        pytest.param(RFC3339, "2024-01-01t00:00:00z", id="small letters where the layout has capitals"),
        pytest.param(RFC3339, "2024-1-01T00:00:00Z", id="one digit where there must be two"),
        pytest.param(RFC3339, "2023-02-29T00:00:00Z", id="a day that there is not"),
        pytest.param(RFC3339, "2024-13-01T00:00:00Z", id="a month that there is not"),
        pytest.param(RFC3339, "2024-01-01T24:00:00Z", id="an hour that there is not"),
        pytest.param(RFC3339, "2024-01-01T00:60:00Z", id="a minute that there is not"),
        pytest.param(RFC3339, "2024-01-01T00:00:60Z", id="a leap second"),
        pytest.param(RFC3339, "2024-01-01T00:00:00+25:00", id="an offset of more than a day"),
        pytest.param(RFC3339, "2024-01-01T00:00:00+00:61", id="an offset of too many minutes"),
        pytest.param(RFC3339, "0000-01-01T00:00:00Z", id="the year 0"),
        pytest.param(RFC3339, "٢٠٢٤-01-01T00:00:00Z", id="digits of another script"),
        pytest.param(RFC3339, "2024-01-01T00:00:00." + "1" * 300 + "Z", id="far too many digits"),
        pytest.param("2006.002", "2023.366", id="a day that this year has not"),
        pytest.param("2006.002", "2023.000", id="a day before the first"),
        pytest.param("2006-01 002", "2024-01 060", id="a day of the year that is of another month"),
        pytest.param("2006-01-02 3PM", "2024-01-01 13PM", id="thirteen in the afternoon"),
        pytest.param("2006-01-02T15:04:05.000", "2024-01-01T00:00:00.1", id="fewer digits than zeros"),
        pytest.param("2 Jan 2006", "1 Foo 2024", id="no month"),
    ],
)
def test_what_is_no_time_of_the_layout(layout: str, text: str) -> None:
    assert GoLayout(layout).seconds(text) is None


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        pytest.param("YYYY-MM-DD", "it has no year", id="letters of another language"),
        pytest.param("%Y-%m-%d", "it has no year", id="letters of a third"),
        pytest.param("RFC3339", "it has no year", id="the name of a layout"),
        pytest.param("", "it has no year", id="nothing"),
        pytest.param("Jan 2 15:04:05", "it has no year", id="times of all years alike"),
        pytest.param("2006" + "-" * 300, "it has more than 256 characters", id="an endless one"),
    ],
)
def test_what_is_no_layout(layout: str, reason: str) -> None:
    with pytest.raises(InvalidLayout, match=reason):
        GoLayout(layout)


@given(
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),
    st.integers(-23 * 60, 23 * 60),
)
def test_it_agrees_with_python_about_every_time(when: datetime, minutes: int) -> None:
    time = when.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    assert GoLayout(RFC3339).seconds(time.isoformat()) == (time - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


@given(st.text("2006-1JanMoZ07:.,95_ PMST+", max_size=30), st.text("2006-1JanMoZ07:.,95_ PMST+", max_size=30))
def test_no_text_is_too_strange(layout: str, text: str) -> None:
    assert isinstance(GoLayout("2006" + layout).seconds("2024" + text), float | None)
