"""DefaultPreemption: preempts pods of lower priority."""

from pilotage.framework.api.plugin import PodGroupPostFilter
from pilotage.plugins.preemption._shared.evicting_lower import EvictingLower


class DefaultPreemption(EvictingLower, PodGroupPostFilter):
    """Evict the fewest and least important pods of lower priority so that a pod fits."""

    no_arguments = "got args of type <nil>, want *{}Args"
