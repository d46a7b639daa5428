"""A profile that is ready to run on a cluster."""

from dataclasses import dataclass, field

from pilotage.framework.binding_runner import BindingRunner
from pilotage.framework.demand import LimitsDemand
from pilotage.framework.gang_fence import fenced
from pilotage.framework.gangs import FormsGangs
from pilotage.framework.remit import EVERYTHING, Remit
from pilotage.framework.runner import Runner
from pilotage.scheduling.class_rows import ClassRows


@dataclass
class Engine:
    """Who asks the plugins, and what they said about classes of pods."""

    runner: Runner
    rows: ClassRows
    percentage: int = 0  # of nodes to score; 0 for all of them
    remit: Remit = EVERYTHING  # what of the cluster it may touch
    guard: bool = True  # against races with other schedulers
    spread: int = 5  # percent below the best score: nodes so near to it are drawn among while races are seen
    binding: BindingRunner = field(init=False)
    gangs: FormsGangs | None = field(init=False)  # who knows which pods start together
    limits: tuple[LimitsDemand, ...] = field(init=False)  # who knows for how many pods nodes are worth it

    def __post_init__(self) -> None:
        """Let the same plugins and timings serve the binding and gangs."""
        lineup = self.runner.lineup
        self.binding = BindingRunner(lineup, self.runner.timings)
        self.limits = tuple(each for each in lineup.pre_filter if isinstance(each, LimitsDemand))
        self.gangs = fenced(next((each for each in lineup.rejecting().values() if isinstance(each, FormsGangs)), None))
