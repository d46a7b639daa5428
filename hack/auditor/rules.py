"""The rules, listed once, and what breaking one looks like."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from auditor.claim import Claim
from auditor.pod import Pod

RULES = {
    "double-bind": "A pod is bound once, to one node.",
    "foreign-binder": "A pod is bound only by a user that serves its scheduler name.",
    "bound-gated": "A pod with scheduling gates is never bound, nor tried to be bound once the gates were visible.",
    "bound-deleting": "A pod that is being deleted is never bound, nor tried to be bound once that was visible.",
    "bound-bound": "A pod that has a node is never bound, nor tried to be bound once that was visible.",
    "overcommit": "A pod arrives on a node only if all pods there together fit what the node offers.",
    "unknown-node": "A pod arrives only on a node that exists.",
    "unknown-pod": "A successful binding belongs to a pod that exists.",
    "bound-unclaimed": "A bound pod has its device claims: allocated, reserved for it, and usable on its node.",
    "device-twice": "A device is allocated to one claim; only shares of it to several.",
    "device-overcommit": "Shares of a device fit its capacities, and allocated devices the counters of their pool.",
    "unprotected-claim": "A device claim has its finalizer before it is allocated.",
    "waits-though-fits": "A pod that fits some node all the time is bound within the wait limit.",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule, broken once."""

    rule: str
    time: str
    namespace: str
    pod: str
    uid: str
    node: str
    binder: str
    message: str

    def __str__(self) -> str:
        binder = f" by {self.binder}" if self.binder else ""
        node = f" on {self.node}" if self.node else ""
        whom = f"pod {self.namespace}/{self.pod}" if self.pod else f"namespace {self.namespace}"
        return f"{self.time} {self.rule}: {whom}{node}{binder}: {self.message}"

    def as_dict(self) -> dict[str, str]:
        """Return it as the report writes it."""
        return asdict(self)


def violation(rule: str, at: float, pod: Pod, message: str, node: str = "", binder: str = "") -> Violation:
    """Return a violation of a listed rule concerning a known pod."""
    assert rule in RULES
    return Violation(rule, clock(at), pod.namespace, pod.name, pod.uid, node or pod.node, binder, message)


def claim_violation(rule: str, at: float, claim: Claim, message: str) -> Violation:
    """Return a violation of a listed rule concerning a claim, which several pods may have."""
    assert rule in RULES
    return Violation(rule, clock(at), claim.namespace, "", claim.uid, "", "", f"claim {claim.name}: {message}")


def clock(at: float) -> str:
    """Return a time as it is written in reports."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
