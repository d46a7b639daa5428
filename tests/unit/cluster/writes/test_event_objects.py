from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.cluster.write.event_objects import WARNING, CoreV1, EventsV1, Subject, event_name, shortened
from pilotage.cluster.write.event_series import RecordedEvent

FIRST = 1_700_000_000_123_456_789  # 2023-11-14T22:13:20.123456789Z
LAST = FIRST + 61_000_000_000
SUBJECT = Subject(WARNING, "FailedScheduling", "Scheduling", "batch", "ns", "web", "u1", "42")
REFERENCE = {"kind": "Pod", "namespace": "ns", "name": "web", "uid": "u1", "apiVersion": "v1", "resourceVersion": "42"}
SERIES = {"count": 3, "lastObservedTime": "2023-11-14T22:14:21.123456Z"}


def an_event(count: int = 1, **changes: Any) -> RecordedEvent:
    return RecordedEvent(SUBJECT._replace(**changes), "no room", FIRST, LAST if count > 1 else FIRST, count=count)


def test_an_event() -> None:
    assert EventsV1("host").creation(an_event()) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "web.17979cfe3d85cd15", "namespace": "ns"},
        "eventTime": "2023-11-14T22:13:20.123456Z",
        "reportingController": "batch",
        "reportingInstance": "batch-host",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": REFERENCE,
        "note": "no room",
        "type": "Warning",
    }


def test_an_event_that_was_seen_again() -> None:
    events = EventsV1("host")
    assert events.repetition(an_event(3)) == {"series": SERIES}
    assert events.creation(an_event(3)) == events.creation(an_event()) | {"series": SERIES}


def test_an_event_of_the_older_api() -> None:
    assert CoreV1().creation(an_event()) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.17979cfe3d85cd15", "namespace": "ns"},
        "involvedObject": REFERENCE,
        "reason": "FailedScheduling",
        "message": "no room",
        "source": {"component": "batch"},
        "reportingComponent": "batch",
        "firstTimestamp": "2023-11-14T22:13:20Z",
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "count": 1,
        "type": "Warning",
    }
    assert CoreV1().repetition(an_event(3)) == {"count": 3, "lastTimestamp": "2023-11-14T22:14:21Z"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(EventsV1("h"), "/apis/events.k8s.io/v1/namespaces/a%2Fb/events", id="events.k8s.io"),
        pytest.param(CoreV1(), "/api/v1/namespaces/a%2Fb/events", id="core"),
    ],
)
def test_where_events_go(events: Any, expected: str) -> None:
    assert events.path("a/b") == expected


def test_the_instance_is_no_longer_than_the_server_takes() -> None:
    assert len(EventsV1("h" * 200).creation(an_event())["reportingInstance"]) == 128


def test_a_long_name_is_still_a_name_and_always_the_same() -> None:
    fits, too_long = an_event(name="a" * 236), an_event(name="a" * 237)
    assert event_name(fits) == "a" * 236 + ".17979cfe3d85cd15"
    assert len(event_name(too_long)) == 36
    assert event_name(too_long) == event_name(an_event(name="a" * 237))
    assert event_name(too_long) != event_name(an_event(name="a" * 238))


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        pytest.param("short", "short", id="a short note"),
        pytest.param("x" * 1024, "x" * 1024, id="a note that just fits"),
        pytest.param("x" * 1025, "x" * 1020 + " ...", id="a note that does not"),
        pytest.param("é" * 512, "é" * 512, id="bytes count: these fit"),
        pytest.param("é" * 513, "é" * 510 + " ...", id="bytes count: these do not"),
        pytest.param("x" + "é" * 512, "x" + "é" * 509 + " ...", id="no character is cut in two"),
    ],
)
def test_long_notes(note: str, expected: str) -> None:
    assert shortened(note) == expected


@examples(50)
@given(st.text(min_size=200, max_size=1500))
def test_any_note_fits_and_keeps_its_beginning(note: str) -> None:
    short = shortened(note)
    assert len(short.encode(errors="replace")) <= 1024
    assert short == note or (short.endswith(" ...") and note.startswith(short[:-4]) and len(short.encode()) > 1020)
