"""Watchers that miss what is there are found out."""

from pilotage_operator.watch_lag import Key, WatchLag

ONE: Key = ("ConfigMap", "one")
TWO: Key = ("Deployment", "two")


def test_what_was_heard_of_is_no_trouble() -> None:
    watch_lag = WatchLag()
    watch_lag.reported(ONE, "5")
    watch_lag.seen({ONE: "5"}, 0)
    assert watch_lag.seconds(1000) == 0


def test_a_later_version_is_as_good() -> None:
    watch_lag = WatchLag()
    watch_lag.reported(ONE, "12")
    watch_lag.seen({ONE: "9"}, 0)
    assert watch_lag.seconds(1000) == 0


def test_what_was_not_heard_of_counts_from_when_it_was_first_seen() -> None:
    watch_lag = WatchLag()
    watch_lag.reported(ONE, "5")
    watch_lag.seen({ONE: "6", TWO: "1"}, 10)
    watch_lag.seen({ONE: "7", TWO: "1"}, 20)
    assert watch_lag.seconds(30) == 20
    watch_lag.reported(TWO, "1")
    assert watch_lag.seconds(30) == 20
    watch_lag.reported(ONE, "7")
    assert watch_lag.seconds(30) == 0


def test_what_is_gone_need_not_be_heard_of() -> None:
    watch_lag = WatchLag()
    watch_lag.seen({ONE: "6"}, 10)
    watch_lag.seen({}, 20)
    assert watch_lag.seconds(300) == 0
