"""Reasons why a decision made in memory may differ from the scheduler's, one line for each."""

from collections.abc import Iterator

from pilotage.app import Configured
from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.plugin import Plugin, UsesLoad
from pilotage.framework.api.stays import RemembersStays
from pilotage.model.gangs import NATIVE, gang_of
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.offline.results import Result
from pilotage.profiles import Profile

GATE = "; kube-scheduler waits for the others only with its feature gate GenericWorkload"


def caveats(ready: Configured, profile: Profile, pod: Pod, result: Result) -> Iterator[str]:
    """Yield the caveats of a simulated decision."""
    plugins = profile.plugin_set.plugins()
    yield from _unasked(ready, [name for name, plugin in plugins.items() if isinstance(plugin, UsesLoad)])
    yield from _forgotten([name for name, plugin in plugins.items() if isinstance(plugin, RemembersStays)], pod, result)
    yield from _alone(list(plugins.values()), pod)


def _unasked(ready: Configured, by_load: list[str]) -> Iterator[str]:
    """Yield a line with the sources that only a running scheduler consults."""
    parts = ["the configuration's extenders"] if ready.loaded.config.extenders else []
    if by_load:
        parts.append(f"how busy nodes are ({', '.join(by_load)} prefer{'s' * (len(by_load) == 1)} no node here)")
    if parts:
        yield f"not considered: {' and '.join(parts)}; the scheduler may decide differently"


def _forgotten(remembering: list[str], pod: Pod, result: Result) -> Iterator[str]:
    condition = pod.status.condition("PodScheduled")
    said = condition.message if condition is not None and condition.status == "False" else ""
    for name in remembering:
        if name in said and name not in result.message:
            yield (
                f"{name} of the scheduler remembers where the pod's predecessor ran, which neither pods nor events "
                "show any more; rely on the pod's status"
            )


def _alone(plugins: list[Plugin], pod: Pod) -> Iterator[str]:
    gang = gang_of(pod)
    if gang is not None and not any(isinstance(plugin, FormsGangs) for plugin in plugins):
        native = gang.source == NATIVE and pod.scheduler_name == DEFAULT_SCHEDULER
        yield f"the pod belongs to the group {gang}, but its profile schedules each pod alone{GATE if native else ''}"
