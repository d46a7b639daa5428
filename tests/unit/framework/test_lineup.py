"""Who takes part where."""

from pilotage.framework.lineup import Lineup
from pilotage.framework.plugin import Filter, Permit, PostBind, PostFilter, PreEnqueue, Score
from pilotage.testing import lineup_of


class Gate(PreEnqueue):
    """Keeps pods out."""


class Room(Filter, PostFilter):
    """Filters, and makes room."""


class Taste(Score):
    """Scores."""


class Later(Permit, PostBind):
    """Holds pods back, and hears of their end."""


GATE, ROOM, TASTE, LATER = Gate(), Room(), Taste(), Later()


def test_a_plugin_takes_part_wherever_it_can_in_the_order_given() -> None:
    lineup = lineup_of(TASTE, ROOM, GATE, LATER)
    assert lineup == Lineup(
        pre_enqueue=(GATE,),
        filter=(ROOM,),
        post_filter=(ROOM,),
        score=(TASTE,),
        permit=(LATER,),
        post_bind=(LATER,),
        weights={"Taste": 1},
    )
    assert lineup_of(TASTE, weights={"Taste": 3}).weights == {"Taste": 3}


def test_every_plugin_is_there_once_by_name() -> None:
    lineup = lineup_of(GATE, ROOM, TASTE, LATER)
    assert lineup.plugins() == {"Gate": GATE, "Room": ROOM, "Taste": TASTE, "Later": LATER}


def test_pods_wait_only_for_plugins_that_can_reject_them() -> None:
    assert lineup_of(GATE, ROOM, TASTE, LATER).rejecting() == {"Gate": GATE, "Room": ROOM, "Later": LATER}
