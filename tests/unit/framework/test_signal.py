"""Signals: everybody who is connected is told, in order."""

import pytest

from pilotage.framework.api.signal import Signal


def test_nobody_need_be_connected() -> None:
    signal: Signal[int] = Signal()
    signal(1)


def test_everybody_is_told_in_the_order_in_which_they_were_connected() -> None:
    told: list[str] = []
    signal: Signal[int] = Signal()
    signal.connect(lambda number: told.append(f"first {number}"))
    signal.connect(lambda number: told.append(f"second {number}"))
    signal(1)
    signal(2)
    assert told == ["first 1", "second 1", "first 2", "second 2"]


def test_who_is_connected_meanwhile_is_told_from_the_next_time_on() -> None:
    told: list[int] = []
    signal: Signal[int] = Signal()
    signal.connect(lambda _number: signal.connect(told.append))
    signal(1)
    assert told == []
    signal(2)
    assert told == [2]


def test_what_a_listener_raises_is_the_callers() -> None:
    def fail() -> None:
        raise ZeroDivisionError("oh")

    signal: Signal[()] = Signal()
    signal.connect(fail)
    with pytest.raises(ZeroDivisionError, match="oh"):
        signal()
