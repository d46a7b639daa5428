"""The rule about pods with claims: a pod is bound once its claims are allocated, name it, and can be used there."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from auditor.claim import Claim
from auditor.nodes import Nodes
from auditor.placement import Placement, allows
from auditor.pod import Pod
from auditor.rules import Violation, violation

Name = tuple[str, str]


@dataclass(slots=True)
class Entitled:
    """Which pods a claim ever named while it was allocated, and where it could be used then."""

    pods: dict[str, Placement] = field(default_factory=dict)
    everybody: Placement | None = None  # it named a group, whose pods are not known
    was_allocated: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """A bound pod for which not all claims have been seen as they must be."""

    pod: Pod
    at: float
    binder: str


class Entitlements:
    """Judges bound pods; claims come by another stream than pods, so a doubt is settled with a fresh list of them."""

    def __init__(self, nodes: Nodes, grace: float) -> None:
        self._nodes, self._grace = nodes, grace
        self._entitled: dict[Name, Entitled] = {}
        self._doubts: list[Doubt] = []

    def see(self, claim: Claim) -> None:
        """Take the next version of a claim."""
        known = self._entitled.setdefault((claim.namespace, claim.name), Entitled())
        known.was_allocated |= claim.is_allocated
        if claim.is_allocated:
            known.pods |= dict.fromkeys(claim.pods, claim.placement)
            known.everybody = claim.placement if claim.has_groups else known.everybody

    def lose(self, claim: Claim) -> None:
        """Forget a claim once it cannot be in doubt."""
        if not self._doubts:
            self._entitled.pop((claim.namespace, claim.name), None)

    def arrived(self, pod: Pod, now: float, binder: str) -> None:
        """Remember a pod that was bound before its claims were seen to be ready."""
        doubt = Doubt(pod, now, binder)
        if pod.claims and self._problem(doubt):
            self._doubts.append(doubt)

    def left(self, uid: str) -> None:
        """Forget a pod that is gone or done: its claims need not name it any more."""
        self._doubts = [doubt for doubt in self._doubts if doubt.pod.uid != uid]

    def settle(self, claims_as_of: float, final: bool = False) -> Iterator[Violation]:
        """Decide the doubts for which the claims are known as they were a grace after the pod was bound."""
        undecided = []
        for doubt in self._doubts:
            problem = self._problem(doubt)
            if problem and (final or claims_as_of > doubt.at + self._grace):
                yield violation("bound-unclaimed", doubt.at, doubt.pod, problem, binder=doubt.binder)
            elif problem:
                undecided.append(doubt)
        self._doubts = undecided

    def needs_claims(self, now: float) -> bool:
        """Return whether a doubt is ripe and only a fresh list of claims is missing."""
        return any(now > doubt.at + self._grace for doubt in self._doubts)

    def _problem(self, doubt: Doubt) -> str:
        return next(filter(None, (self._problem_with(name, doubt) for name in doubt.pod.claims)), "")

    def _problem_with(self, name: str, doubt: Doubt) -> str:
        known = self._entitled.get((doubt.pod.namespace, name))
        if known is None:
            return f"its claim {name} was never seen" if name else "one of its claims was never made"
        if not known.was_allocated:
            return f"its claim {name} is not allocated"
        placement = known.pods.get(doubt.pod.uid, known.everybody)
        if placement is None:
            return f"its claim {name} is not reserved for it"
        versions = self._nodes.versions(doubt.pod.node, since=doubt.at - self._grace)
        if versions and not any(allows(placement, node.name, node.labels) for node in versions):
            return f"its claim {name} cannot be used on its node"
        return ""
