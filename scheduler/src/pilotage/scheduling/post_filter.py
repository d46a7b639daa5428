"""The combined result of PostFilter plugins."""

from dataclasses import dataclass, field
from time import perf_counter

from pilotage.framework.api.verdicts import FollowUp, Nominated, NoRoom
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.timings import ERROR, SUCCESS, UNSCHEDULABLE, Timings
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.outcome import UNSCHEDULABLE as NO_NODE_DOES
from pilotage.scheduling.outcome import Unplaced


@dataclass
class PostFilterResult:
    """Collects results until one is final; without plugins, an earlier nomination is cleared."""

    asked: bool  # a PostFilter plugin exists
    messages: list[str] = field(default_factory=list)
    victims: tuple[str, ...] = ()
    other_nodes: tuple[str, ...] = ()
    status: str = UNSCHEDULABLE
    rest: float = 0.0
    cost: float = 0.0
    follow_ups: tuple[FollowUp, ...] = ()
    note: str = ""  # added to the message regardless of the results
    started: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        """Keep an earlier nomination until a plugin clears it."""
        self.nominate: str | None = None if self.asked else ""

    def take(self, answer: Nominated | NoRoom) -> bool:
        """Record a result; True if it is final."""
        if isinstance(answer, Nominated):
            self.messages, self.nominate, self.victims = [answer.message], answer.node, answer.victims
            self.other_nodes = answer.other_nodes
            self.status = SUCCESS
            return True
        self.messages += [answer.message] if answer.message else []
        self.follow_ups += () if answer.follow_up is None else (answer.follow_up,)
        if not answer.keeps_nomination:
            self.nominate = ""
        return False

    def fail(self, error: CycleFailed) -> None:
        """Record a failed plugin, after which no other is called."""
        self.messages, self.nominate, self.status = [str(error)], None, ERROR
        self.rest, self.cost = error.rest, error.cost

    def outcome(self, diagnosis: Diagnosis, timings: Timings, again_at: float | None = None) -> Unplaced:
        """Return the outcome for the pod."""
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
            follow_ups=self.follow_ups,
        )
