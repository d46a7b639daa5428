"""Asks the plugins that have a say in who is evicted, each behind a fence."""

from collections.abc import Iterable

from pilotage.framework.cycle import Cycle
from pilotage.framework.plugin import EvictionRule
from pilotage.framework.runner import failure
from pilotage.framework.verdicts import Rejection
from pilotage.model.pod import Pod

FAILED = 'running the eviction rule of plugin "{}": {}'


def may_evict(rules: Iterable[EvictionRule], cycle: Cycle, victim: Pod) -> bool:
    """Tell whether every plugin lets a pod be evicted for the pod of the cycle."""
    for plugin in rules:
        try:
            if not plugin.may_evict(cycle, cycle.pod, victim):
                return False
        except Exception as error:
            raise failure(FAILED, plugin, error) from error
    return True


def objection(rules: Iterable[EvictionRule], cycle: Cycle) -> Rejection | None:
    """Return why evictions would be in vain, as the notes are now, in the words of the first plugin that objects."""
    for plugin in rules:
        try:
            rejection = plugin.objection(cycle, cycle.pod)
        except Exception as error:
            raise failure(FAILED, plugin, error) from error
        if rejection is not None:
            return rejection.by(plugin.name)
    return None
