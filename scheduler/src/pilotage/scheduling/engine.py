"""A profile that is built and ready to run."""

from dataclasses import dataclass, field

from pilotage.framework.api.demand import LimitsDemand
from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.remit import EVERYTHING, Remit
from pilotage.framework.runtime.binding_runner import BindingRunner
from pilotage.framework.runtime.gang_fence import fenced
from pilotage.framework.runtime.runner import Runner
from pilotage.scheduling.equivalence.equivalence_cache import EquivalenceCache


@dataclass
class Engine:
    """The runner of a profile's plugins, and its equivalence cache."""

    runner: Runner
    equivalence_cache: EquivalenceCache
    percentage: int = 0  # of nodes to score; 0 for all of them
    remit: Remit = EVERYTHING  # the objects that it may change
    guard: bool = True  # against races with other schedulers
    spread: int = 5  # percent of the best score: nodes within this are drawn at random while races occur
    binding: BindingRunner = field(init=False)
    gangs: FormsGangs | None = field(init=False)  # the plugin that forms gangs
    limits: tuple[LimitsDemand, ...] = field(init=False)  # the plugins that limit demand

    def __post_init__(self) -> None:
        """Derive the runner for binding, and find the plugins with special roles."""
        plugin_set = self.runner.plugin_set
        self.binding = BindingRunner(plugin_set, self.runner.timings)
        self.limits = tuple(each for each in plugin_set.pre_filter if isinstance(each, LimitsDemand))
        self.gangs = fenced(
            next((each for each in plugin_set.rejecting().values() if isinstance(each, FormsGangs)), None)
        )
