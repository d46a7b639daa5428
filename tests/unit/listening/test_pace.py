"""How long handshakes of a peer have to wait."""

import pytest

from pilotage.listening import pace as module
from pilotage.listening.pace import Pace


def test_a_few_may_begin_at_once_and_then_one_after_the_other() -> None:
    pace = Pace(at_once=3, a_second=10)
    assert [round(pace.delay("a", 100.0), 3) for _ in range(5)] == [0, 0, 0, 0.1, 0.2]
    assert pace.delay("b", 100.0) == 0, "others do not wait"


def test_the_store_fills_again() -> None:
    pace = Pace(at_once=2, a_second=10)
    for _ in range(3):
        pace.delay("a", 100.0)
    assert pace.delay("a", 100.2) == 0
    assert [round(pace.delay("a", 200.0), 3) for _ in range(3)] == [0, 0, 0.1], "and no further than it was"


def test_nobody_waits_longer_than_a_store_takes() -> None:
    pace = Pace(at_once=2, a_second=10)
    assert max(pace.delay("a", 100.0) for _ in range(1000)) == pytest.approx(0.3)


def test_peers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PEERS", 10)
    pace = Pace(at_once=2, a_second=10)
    for number in range(1000):
        pace.delay(f"peer-{number}", float(number))
        assert len(pace) <= 11
