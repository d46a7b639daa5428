"""Watchers that miss what is there are found out."""

from pilotage_operator.hearing import Hearing, Key

ONE: Key = ("ConfigMap", "one")
TWO: Key = ("Deployment", "two")


def test_what_was_heard_of_is_no_trouble() -> None:
    hearing = Hearing()
    hearing.heard(ONE, "5")
    hearing.seen({ONE: "5"}, 0)
    assert hearing.seconds_deaf(1000) == 0


def test_a_later_version_is_as_good() -> None:
    hearing = Hearing()
    hearing.heard(ONE, "12")
    hearing.seen({ONE: "9"}, 0)
    assert hearing.seconds_deaf(1000) == 0


def test_what_was_not_heard_of_counts_from_when_it_was_first_seen() -> None:
    hearing = Hearing()
    hearing.heard(ONE, "5")
    hearing.seen({ONE: "6", TWO: "1"}, 10)
    hearing.seen({ONE: "7", TWO: "1"}, 20)
    assert hearing.seconds_deaf(30) == 20
    hearing.heard(TWO, "1")
    assert hearing.seconds_deaf(30) == 20
    hearing.heard(ONE, "7")
    assert hearing.seconds_deaf(30) == 0


def test_what_is_gone_need_not_be_heard_of() -> None:
    hearing = Hearing()
    hearing.seen({ONE: "6"}, 10)
    hearing.seen({}, 20)
    assert hearing.seconds_deaf(300) == 0
