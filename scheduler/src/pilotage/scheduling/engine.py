"""A profile that is ready to run on a cluster."""

from dataclasses import dataclass, field

from pilotage.framework.binding_runner import BindingRunner
from pilotage.framework.gangs import FormsGangs
from pilotage.framework.runner import Runner
from pilotage.scheduling.class_rows import ClassRows


@dataclass
class Engine:
    """Who asks the plugins, and what they said about classes of pods."""

    runner: Runner
    rows: ClassRows
    percentage: int = 0  # of nodes to score; 0 for all of them
    binding: BindingRunner = field(init=False)
    gangs: FormsGangs | None = field(init=False)  # who knows which pods start together

    def __post_init__(self) -> None:
        """Let the same plugins and timings serve the binding and gangs."""
        lineup = self.runner.lineup
        self.binding = BindingRunner(lineup, self.runner.timings)
        self.gangs = next((each for each in lineup.rejecting().values() if isinstance(each, FormsGangs)), None)
