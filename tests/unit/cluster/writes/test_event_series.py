from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pilotage.cluster.write.event_objects import Subject
from pilotage.cluster.write.event_series import ENDS_AFTER, EventSeries, RecordedEvent

MINUTE = 60_000_000_000


def about(name: str, version: str = "1") -> Subject:
    return Subject("Warning", "FailedScheduling", "Scheduling", "batch", "ns", name, name, version)


def first_sighting(series: EventSeries, subject: Subject, now: int) -> tuple[RecordedEvent, list[RecordedEvent]]:
    event = RecordedEvent(subject, "note", now, now)
    return event, series.remember(event)


def test_a_repetition_within_six_minutes_is_the_same_event() -> None:
    series = EventSeries()
    event, _ = first_sighting(series, about("a"), 0)
    assert series.seen_again(about("a"), 6 * MINUTE) is event
    assert series.seen_again(about("a"), 12 * MINUTE) is event
    assert (event.count, event.first, event.last) == (3, 0, 12 * MINUTE)


def test_a_later_one_is_another_event() -> None:
    series = EventSeries()
    event, _ = first_sighting(series, about("a"), 0)
    assert series.seen_again(about("a"), 6 * MINUTE + 1) is None
    assert first_sighting(series, about("a"), 6 * MINUTE + 1)[1] == [event]


def test_trap_46_a_pod_that_was_written_starts_another_event() -> None:
    series = EventSeries()
    first_sighting(series, about("a", "1"), 0)
    assert series.seen_again(about("a", "2"), 1) is None


def test_the_oldest_makes_room() -> None:
    series = EventSeries(most_remembered=2)
    first_sighting(series, about("a"), 0)
    b, _ = first_sighting(series, about("b"), 1)
    series.seen_again(about("a"), 2)
    assert first_sighting(series, about("c"), 3)[1] == [b]
    assert len(series) == 2


def test_forgetting_does_not_touch_a_successor() -> None:
    series = EventSeries()
    old, _ = first_sighting(series, about("a"), 0)
    new, _ = first_sighting(series, about("a"), 10 * MINUTE)
    series.forget(old)
    assert series.all() == [new]
    series.forget(new)
    assert series.all() == []


SIGHTINGS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 8), st.booleans()), max_size=40)


@given(SIGHTINGS)
def test_every_sighting_is_counted_once(sightings: Any) -> None:
    """The model: a list of times for each name, cut where more than six minutes lie between two."""
    series, now, events = EventSeries(), 0, []
    model: list[tuple[str, list[int]]] = []
    for name, minutes, sweeps in sightings:
        now += minutes * MINUTE
        if sweeps:
            ended = series.take_ended(now, 100)
            assert all(now - event.last > ENDS_AFTER for event in ended)
            assert all(now - event.last <= ENDS_AFTER for event in series.all())
        if series.seen_again(about(name), now) is None:
            events.append(first_sighting(series, about(name), now)[0])
        run = next((times for known, times in reversed(model) if known == name), None)
        if run is None or now - run[-1] > ENDS_AFTER:
            model.append((name, [now]))
        else:
            run.append(now)
    assert [(event.subject.name, event.count, event.first, event.last) for event in events] == [
        (name, len(times), times[0], times[-1]) for name, times in model
    ]
