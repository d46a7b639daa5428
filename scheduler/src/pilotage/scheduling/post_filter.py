"""What came of asking plugins to make room for a pod, one after the other."""

from dataclasses import dataclass, field
from time import perf_counter

from pilotage.framework.api.verdicts import Nominated, NoRoom
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.timings import ERROR, SUCCESS, UNSCHEDULABLE, Timings
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.outcome import UNSCHEDULABLE as NO_NODE_DOES
from pilotage.scheduling.outcome import Unplaced


@dataclass
class PostFilterResult:
    """Collects answers until one settles it; without any plugin an earlier nomination is cleared."""

    asked: bool  # there is a plugin that can make room
    messages: list[str] = field(default_factory=list)
    victims: tuple[str, ...] = ()
    other_nodes: tuple[str, ...] = ()
    status: str = UNSCHEDULABLE
    rest: float = 0.0
    cost: float = 0.0
    note: str = ""  # what is said besides, whatever they answer
    started: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        """Let an earlier nomination stand until a plugin clears it."""
        self.nominate: str | None = None if self.asked else ""

    def take(self, answer: Nominated | NoRoom) -> bool:
        """Take note of an answer; True if it settles the matter."""
        if isinstance(answer, Nominated):
            self.messages, self.nominate, self.victims = [answer.message], answer.node, answer.victims
            self.other_nodes = answer.other_nodes
            self.status = SUCCESS
            return True
        self.messages += [answer.message] if answer.message else []
        if not answer.keeps_nomination:
            self.nominate = ""
        return False

    def fail(self, error: CycleFailed) -> None:
        """Take note of a plugin that failed, after which nobody else is asked."""
        self.messages, self.nominate, self.status = [str(error)], None, ERROR
        self.rest, self.cost = error.rest, error.cost

    def outcome(self, diagnosis: Diagnosis, timings: Timings, again_at: float | None = None) -> Unplaced:
        """Return what to tell the owner of the pod."""
        if self.asked:
            timings.past("PostFilter", self.started, self.status)
        return Unplaced(
            diagnosis.message(", ".join([*self.messages, *([self.note] if self.note else [])])),
            diagnosis.held_as or NO_NODE_DOES,
            rejected_by=diagnosis.rejected_by(),
            pending=diagnosis.pending(),
            nominate=self.nominate,
            victims=self.victims,
            other_nodes=self.other_nodes,
            again_at=again_at,
            rest=self.rest,
            cost=self.cost,
            counted=diagnosis.counted,
        )
