"""The judge of gangs, on histories that are made up: what it must tell, and what it must let pass."""

import pytest

from kit.gang_judge import QUIET_TURNS, GangJudge, Judged

# What happened, in words: "a+3" three pods of a come, "a>2" two of them are bound, "a-1" one is deleted, "a." it has
# run, "?" a question is asked, "!" the last one is answered, "??" both so often that quiet is proved.
FILLING = "x+4 x>4 a+2"  # x takes all four cores, and a waits for two of them


class Played:
    """A judge that is told a history."""

    def __init__(self, capacity: int = 4, most_binds: int = 500, **minimums: int) -> None:
        gangs = [Judged(name, minimum, "ours") for name, minimum in minimums.items()]
        self.judge = GangJudge(capacity, gangs, most_binds)
        self._question = 0

    def tell(self, *histories: str) -> list[str]:
        for word in " ".join(histories).split():
            self._tell(word)
        return self.judge.violations

    def _tell(self, word: str) -> None:
        if word == "?":
            self._question = self.judge.ask()
        elif word == "!":
            self.judge.answered(self._question, "ours")
        elif word == "??":
            self.tell("? ! " * QUIET_TURNS)
        elif word.endswith("."):
            self.judge.goes(word[0])
        else:
            name, what, count = word[0], word[1], int(word[2:])
            for _ in range(count):
                self._happens(name, what)

    def _happens(self, name: str, what: str) -> None:
        gang = self.judge.gangs[name]
        if what == "+":
            self.judge.waits(name, f"{name}-{len(gang.waiting) + len(gang.bound)}")
        elif what == ">":
            self.judge.is_bound(name, min(gang.waiting))
        else:
            self.judge.is_gone(name, min(gang.bound or gang.waiting))


@pytest.mark.parametrize(
    ("history", "told"),
    [
        pytest.param("x. x-2 ??", "a needs 2 cores, 2 cores are free", id="there is room and nobody is bound"),
        pytest.param("x. x-1 ?? x-1 ??", "a needs 2 cores, 2 cores are free", id="when the last core is free"),
        pytest.param("x. x-3 ?? ??", "a needs 2 cores, 3 cores are free", id="there is more room than needed"),
        pytest.param("x. x-4 a>1 ??", "a runs with 1 of 2 pods", id="the rest of it does not come"),
        pytest.param("x. x-4 a>2 a-1 ??", "a runs with 1 of 2 pods", id="one of its pods is lost"),
    ],
)
def test_violations(history: str, told: str) -> None:
    found = Played(x=4, a=2).tell(FILLING, history)
    assert found
    assert all(each.startswith(told) for each in found)


@pytest.mark.parametrize(
    "history",
    [
        pytest.param("?? ??", id="there is no room"),
        pytest.param("x. x-1 ?? ??", id="there is room for a part of it"),
        pytest.param("x. x-2 a>2 ?? ??", id="it is bound at once"),
        pytest.param("x. x-2 ? ! ? ! ? ! ? ! a>1 ? ! ? ! ? ! ? ! a>1 ?? ??", id="its binds take their time"),
        pytest.param("? x. x-2 ! ! ! ! ! ! !", id="the question was older than the room"),
        pytest.param("x. x-2 ? ? ? ? ? ? ?", id="nobody answers, so nothing is proved"),
        pytest.param("x. x-4 ? ! ? ! y+3 y>3 ?? ??", id="others take the room"),
        pytest.param("x. x-2 ? ! ? ! ? ! ? ! a-1 ?? ??", id="it is not whole any more"),
        pytest.param("x. x-2 a>2 a. a-1 ?? ??", id="it goes pod by pod when it has run"),
    ],
)
def test_what_is_no_violation(history: str) -> None:
    assert Played(x=4, a=2, y=3).tell(FILLING, history) == []


def test_a_pod_that_is_bound_begins_the_count_again() -> None:
    played = Played(8, x=4, a=2, y=1)
    assert played.tell("x+4 x>4 a+2 y+2 ? ! ? ! ? ! ? ! y>1 ? ! ? ! ? ! ? !") == []
    assert len(played.tell("? !")) == 1


def test_the_answer_of_another_scheduler_proves_nothing() -> None:
    played = Played(x=4, a=2)
    played.judge.gangs["a"].scheduler = "theirs"
    assert played.tell(FILLING, "x. x-4 ?? ??") == []


def test_a_gang_is_passed_over_if_more_are_bound_than_were_decided_before() -> None:
    history = "a+2 b+9 ? ! b>3"
    assert Played(20, 3, a=2, b=1).tell(history) == []
    (told,) = Played(20, 3, a=2, b=1).tell(history, "b>1")
    assert told == "a needs 2 cores, 16 cores are free, and 4 other pods were bound after that was known"


def test_who_is_bound_before_the_room_is_known_does_not_count() -> None:
    assert Played(20, 3, a=2, b=1).tell("a+2 b+9 ? b>5 ! b>3") == []
