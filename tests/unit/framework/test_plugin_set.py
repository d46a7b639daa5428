"""Who takes part where."""

from pilotage.framework.api.plugin import Filter, Permit, PostBind, PostFilter, PreEnqueue, Score
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.testing import plugin_set_of


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
    plugin_set = plugin_set_of(TASTE, ROOM, GATE, LATER)
    assert plugin_set == PluginSet(
        pre_enqueue=(GATE,),
        filter=(ROOM,),
        post_filter=(ROOM,),
        score=(TASTE,),
        permit=(LATER,),
        post_bind=(LATER,),
        weights={"Taste": 1},
    )
    assert plugin_set_of(TASTE, weights={"Taste": 3}).weights == {"Taste": 3}


def test_every_plugin_is_there_once_by_name() -> None:
    plugin_set = plugin_set_of(GATE, ROOM, TASTE, LATER)
    assert plugin_set.plugins() == {"Gate": GATE, "Room": ROOM, "Taste": TASTE, "Later": LATER}


def test_pods_wait_only_for_plugins_that_can_reject_them() -> None:
    assert plugin_set_of(GATE, ROOM, TASTE, LATER).rejecting() == {"Gate": GATE, "Room": ROOM, "Later": LATER}
