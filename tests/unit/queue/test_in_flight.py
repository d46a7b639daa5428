from pilotage.framework.api.events import Action, Event, Resource
from pilotage.queue.in_flight import InFlight
from pilotage.testing import make_pod

ADD, DELETE = Event(Resource.NODE, Action.ADD), Event(Resource.NODE, Action.DELETE)


def since(flights: InFlight, uid: str) -> list[str] | None:
    events = flights.since_taken(uid)
    return None if events is None else [event.new for event in events]


def test_a_pod_sees_what_came_after_it_in_order() -> None:
    flights = InFlight()
    flights.start(make_pod("a", uid="a"))
    flights.note(ADD, None, "1")
    flights.start(make_pod("b", uid="b"))
    flights.note(DELETE, None, "2")
    flights.note(ADD, None, "3")
    assert since(flights, "a") == ["1", "2", "3"]
    assert since(flights, "b") == ["2", "3"]
    assert since(flights, "c") is None


def test_without_pods_nothing_is_kept() -> None:
    flights = InFlight()
    flights.note(ADD, None, "1")
    flights.start(make_pod("a", uid="a"))
    assert since(flights, "a") == []


def test_what_nobody_needs_any_more_is_dropped() -> None:
    flights = InFlight()
    flights.start(make_pod("a", uid="a"))
    flights.note(ADD, None, "1")
    flights.start(make_pod("b", uid="b"))
    flights.note(DELETE, None, "2")
    flights.start(make_pod("c", uid="c"))
    assert flights.counts() == {"PodPopped": 3, "NodeAdd": 1, "NodeDelete": 1}
    flights.done("b")
    assert flights.counts() == {"PodPopped": 2, "NodeAdd": 1, "NodeDelete": 1}
    flights.done("a")
    assert flights.counts() == {"PodPopped": 1}
    flights.done("a")
    flights.done("c")
    assert (len(flights), flights.counts()) == (0, {"PodPopped": 0})


def test_what_happens_to_a_pod_is_kept_only_while_it_is_in_flight() -> None:
    flights = InFlight()
    flights.start(make_pod("a", uid="a"))
    assert flights.note_for("a", [ADD, DELETE], "old", "new")
    assert not flights.note_for("b", [ADD], "old", "other")
    assert since(flights, "a") == ["new", "new"]


def test_the_pods_are_known_as_they_were_taken() -> None:
    flights = InFlight()
    first, second = make_pod("a", uid="a"), make_pod("b", uid="b")
    flights.start(first)
    flights.start(second)
    assert flights.pods() == [first, second]
    flights.done("a")
    flights.done("a")
    assert flights.pods() == [second]
