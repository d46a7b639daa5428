"""Makes room for a pod by evicting pods of lower priority."""

from pilotage.framework.plugin import PodGroupPostFilter
from pilotage.framework.preemption.evicting_lower import EvictingLower


class DefaultPreemption(EvictingLower, PodGroupPostFilter):
    """Evict the fewest and least important pods of lower priority so that a pod fits."""

    no_arguments = "got args of type <nil>, want *{}Args"
