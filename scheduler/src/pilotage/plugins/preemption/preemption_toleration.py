"""PreemptionToleration: preemption that spares pods for a time set by their priority class."""

import logging
import re
import time
from dataclasses import dataclass
from math import inf

from pydantic import Field

from pilotage.config.types import Item
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import EvictionRule
from pilotage.framework.api.verdicts import NoRoom, Verdicts
from pilotage.framework.runtime.preemption.victims import Victims
from pilotage.kinds.workloads import PodDisruptionBudget, PriorityClass
from pilotage.model.moments import seconds_of, written
from pilotage.model.pod import Pod
from pilotage.plugins.preemption._shared.evicting_lower import EvictingLower

log = logging.getLogger(__name__)

PREFIX = "preemption-toleration.scheduling.x-k8s.io"
MINIMUM, SECONDS = f"{PREFIX}/minimum-preemptable-priority", f"{PREFIX}/toleration-seconds"
WHOLE = re.compile("[+-]?[0-9]+")  # like Go's integers: no spaces, no underscores, no digits of other scripts
LONGEST_NUMBER = 1000  # digits; longer numbers are out of range anyway
NOT_SPARED = -inf
MOST_SHOWN = 2  # spared pods in a remark


class UnreadablePolicy(Exception):
    """An annotation of a priority class is not a valid number; the message says which."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The minimum priority of a preemptor to evict pods of a class at once, and how long others must wait."""

    minimum: int
    seconds: int  # negative means forever

    @classmethod
    def of(cls, given: PriorityClass) -> "Policy":
        """Read the annotations of a priority class."""
        annotations = given.metadata.annotations
        minimum, seconds = annotations.get(MINIMUM), annotations.get(SECONDS)
        return cls(
            given.value + 1 if minimum is None else _number(minimum, 32), 0 if seconds is None else _number(seconds, 64)
        )

    def spared_until(self, victim: Pod, preemptor: Pod) -> float:
        """Return until when the preemptor must not evict a pod of the class."""
        if preemptor.priority >= self.minimum:
            return NOT_SPARED
        if self.seconds < 0:
            return inf
        placed = victim.status.condition("PodScheduled")
        if placed is None or placed.status != "True":
            return inf  # the pod is not bound yet, so its time has not started
        since = seconds_of(placed.last_transition_time)
        return NOT_SPARED if since is None else since + self.seconds


@dataclass(slots=True)
class Watch:
    """The time of an attempt, and the earliest end of a toleration."""

    now: float
    next_end: float = inf


class PreemptionToleration(EvictingLower, EvictionRule):
    """Evict pods of lower priority, but spare pods for a time if their priority class requests it."""

    excluded_namespaces: tuple[Item, ...] = Field(
        default=(), description="Namespaces whose pods are never evicted, regardless of their priority class."
    )

    reads = (PriorityClass, PodDisruptionBudget)
    no_arguments = "got args of type <nil>, want *{}Args"

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._policies: tuple[Objects, int, dict[str, Policy | None]] | None = None

    def candidates(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, now: float) -> list[Victims] | NoRoom:
        """Return the candidates; if there are none, the pod is retried when the first toleration ends."""
        watch = cycle.notes[self.name] = Watch(now)
        found = super().candidates(cycle, pod, verdicts, now)
        if isinstance(found, NoRoom) and watch.next_end < inf:
            cycle.try_again_at(watch.next_end)
        return found

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        """Return whether the victim may be evicted, by this plugin or any other."""
        end = self._end(cycle, victim, pod)
        watch: Watch | None = cycle.notes.get(self.name)
        now = time.time() if watch is None else watch.now
        if end > now and watch is not None:
            watch.next_end = min(watch.next_end, end)
        return end <= now

    def spares(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return which pods of lower priority are spared, and until when, the earliest first."""
        lower = [other for other in node.pods.values() if other.priority < pod.priority]
        ends = sorted((self._end(cycle, other, pod), other.key) for other in lower)
        spared = [f"{key} {_until(end)}" for end, key in ends if end > time.time()]
        more = f" and {len(spared) - MOST_SHOWN} more" if len(spared) > MOST_SHOWN else ""
        return f"spares {', '.join(spared[:MOST_SHOWN])}{more}" if spared else ""

    def _end(self, cycle: Cycle, victim: Pod, preemptor: Pod) -> float:
        if victim.namespace in self.excluded_namespaces:
            return inf
        return self.spared_until(cycle.objects, victim, preemptor)

    def spared_until(self, objects: Objects, victim: Pod, preemptor: Pod) -> float:
        """Return until when the preemptor must not evict the victim."""
        name = victim.spec.priority_class_name
        policy = self._policy(objects, name) if name else None
        if policy is None:
            return NOT_SPARED
        if preemptor.spec.preemption_policy == "Never":
            return inf
        return policy.spared_until(victim, preemptor)

    def _policy(self, objects: Objects, name: str) -> Policy | None:
        """Return the policy of a class; None if the class is missing, or its annotations are invalid."""
        version = objects.version(PriorityClass)
        if self._policies is None or self._policies[0] is not objects or self._policies[1] != version:
            self._policies = objects, version, {}
        known = self._policies[2]
        if name not in known:
            known[name] = _policy_of(objects.get(PriorityClass, name))
        return known[name]


def _until(end: float) -> str:
    return "without end" if end == inf else f"until {written(end)}"


def _policy_of(given: PriorityClass | None) -> Policy | None:
    if given is None:
        return None
    try:
        return Policy.of(given)
    except UnreadablePolicy as error:
        log.warning("PriorityClass %s: %s; its pods are not spared", given.metadata.name, error)
        return None


def _number(text: str, bits: int) -> int:
    """Parse an integer with this number of bits, or raise with Go's message."""
    if not WHOLE.fullmatch(text):
        raise UnreadablePolicy(f'strconv.ParseInt: parsing "{text:.80}": invalid syntax')
    number = int(text) if len(text) < LONGEST_NUMBER else 1 << bits
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise UnreadablePolicy(f'strconv.ParseInt: parsing "{text:.80}": value out of range')
    return number
