"""Who is let in, and who leaves for whom."""

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from pilotage.listening.admission import Admission, peer_of


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        pytest.param("10.0.0.7", "10.0.0.7", id="an address is a peer"),
        pytest.param("::ffff:10.0.0.7", "10.0.0.7", id="however it is written"),
        pytest.param("fd00:1:2:3::1", "fd00:1:2:3::/64", id="a network of IPv6 is one peer"),
        pytest.param("fd00:1:2:3:ffff::9", "fd00:1:2:3::/64", id="all of it"),
        pytest.param("fe80::1%eth0", "fe80::/64", id="through whichever device"),
        pytest.param("", "", id="a socket without addresses"),
    ],
)
def test_whose_connection_it_is(address: str, peer: str) -> None:
    assert peer_of(address) == peer


def admitted(*visits: str, most: int = 4, most_of_one_peer: int = 3) -> Admission[str]:
    """Visits are PEER.NUMBER, with a * if they are being answered."""
    admission: Admission[str] = Admission(most, most_of_one_peer)
    for each in visits:
        name = each.rstrip("*")
        assert admission.enter(name, name[0]) is None
        if each.endswith("*"):
            admission.begin(name)
    return admission


@pytest.mark.parametrize(
    ("here", "newcomer", "leaving"),
    [
        pytest.param(["a.1", "a.2"], "a.3", None, id="there is room"),
        pytest.param(["a.1", "a.2", "a.3"], "a.4", "a.1", id="a peer that has its share gives up its oldest"),
        pytest.param(["a.1*", "a.2", "a.3"], "a.4", "a.2", id="its oldest idle one"),
        pytest.param(["a.1*", "a.2*", "a.3*"], "a.4", "a.4", id="while all are answered, it waits outside"),
        pytest.param(["a.1*", "a.2*", "a.3*"], "b.1", None, id="which is nothing to others"),
        pytest.param(["b.1", "a.1", "a.2", "c.1"], "d.1", "a.1", id="where all is full, whoever has most gives up"),
        pytest.param(["b.1", "a.1*", "a.2*", "c.1"], "d.1", "a.1", id="even what is being answered"),
        pytest.param(["b.1", "a.1", "a.2", "c.1"], "a.3", "a.1", id="for its own, too"),
        pytest.param(["b.1", "a.1", "c.1", "d.1"], "e.1", "b.1", id="where all have one, the first"),
    ],
)
def test_who_leaves(here: list[str], newcomer: str, leaving: str | None) -> None:
    admission = admitted(*here)
    assert admission.enter(newcomer, newcomer[0]) == leaving


def test_who_had_an_answer_is_the_youngest_of_the_idle() -> None:
    admission = admitted("a.1", "a.2", "a.3")
    admission.begin("a.1")
    admission.end("a.1")
    assert [admission.enter(f"a.{number}", "a") for number in (4, 5, 6)] == ["a.2", "a.3", "a.1"]


def test_who_left_already_moves_nothing() -> None:
    admission = admitted("a.1")
    for _ in range(2):
        admission.leave("a.1")
    admission.begin("a.1")
    admission.end("a.1")
    assert (len(admission), admission.count("a")) == (0, 0)


MOST, OF_ONE = 6, 3


class Doors(RuleBasedStateMachine):
    """Peers come, ask, have their answers and go, in any order."""

    visits = Bundle("visits")

    def __init__(self) -> None:
        super().__init__()
        self.admission: Admission[int] = Admission(MOST, OF_ONE)
        self.inside: dict[int, str] = {}
        self.number = 0

    @rule(target=visits, peer=st.sampled_from("abcdefgh"))
    def come(self, peer: str) -> int:
        self.number += 1
        counts = Counter(self.inside.values())
        leaving = self.admission.enter(self.number, peer)
        if leaving != self.number:
            self.inside[self.number] = peer
        if leaving in self.inside:
            # Nobody with more than one visit is favoured over the newcomer, and nobody with fewer has to go for it.
            assert self.inside[leaving] == peer or counts[self.inside[leaving]] > counts[peer]
            del self.inside[leaving]
        if counts[peer] == 0 and len(counts) < MOST:
            assert self.number in self.inside, "who has none gets in"
        return self.number

    @rule(visit=visits)
    def ask(self, visit: int) -> None:
        self.admission.begin(visit)

    @rule(visit=visits)
    def have_the_answer(self, visit: int) -> None:
        self.admission.end(visit)

    @rule(visit=consumes(visits))
    def go(self, visit: int) -> None:
        self.admission.leave(visit)
        self.inside.pop(visit, None)

    @invariant()
    def counts_are_right(self) -> None:
        counts = Counter(self.inside.values())
        assert len(self.admission) == len(self.inside) <= MOST
        assert all(self.admission.count(peer) == counts[peer] <= OF_ONE for peer in "abcdefgh")


TestDoors = Doors.TestCase
