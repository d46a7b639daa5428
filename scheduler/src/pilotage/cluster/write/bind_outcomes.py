"""The outcomes of a bind, parsed from the API server's responses."""

from dataclasses import dataclass
from enum import StrEnum

from pilotage.cluster.transport.api_errors import ApiError
from pilotage.cluster.write.write_retries import means_another_pod


class Refusal(StrEnum):
    """Why a pod was not bound, by the scheduler's next step."""

    NOT_ALLOWED = "not allowed"  # any more: we are not the leader, or the node or the pod was deleted
    GONE = "gone"  # deleted or replaced by another pod of the same name
    DELETING = "deleting"
    ELSEWHERE = "elsewhere"  # it was bound to another node
    GATED = "gated"
    FORBIDDEN = "forbidden"
    FAILED = "failed"  # any other reason, or all attempts failed


@dataclass(frozen=True, slots=True)
class Bound:
    """The pod is on the chosen node."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The pod is not on the chosen node; the message is the API server's, if there is one."""

    kind: Refusal
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """It is unknown whether the pod is on the node; its resources must stay reserved."""


BindOutcome = Bound | Refused | Unknown

# The server's messages with a 409, in the order of its checks.
_CONFLICTS = (
    ("is being deleted, cannot be assigned to a host", Refusal.DELETING),
    ("is already assigned to node ", Refusal.ELSEWHERE),
    ("has non-empty .spec.schedulingGates", Refusal.GATED),
)


def read_refusal(error: ApiError, node: str) -> Bound | Refused | None:
    """Return the final outcome in a response; None if it is still undecided."""
    if error.status == 404:
        return Refused(Refusal.GONE, error.message)
    if error.status == 403:
        return Refused(Refusal.FORBIDDEN, error.message)
    if error.status == 409:
        return _read_conflict(error, node)
    if error.status == 429 or error.status >= 500:
        return None
    return Refused(Refusal.FAILED, error.message)


def _read_conflict(error: ApiError, node: str) -> Bound | Refused | None:
    if means_another_pod(error):
        return Refused(Refusal.GONE, error.message)
    if error.message.endswith(f'is already assigned to node "{node}"'):
        return Bound()  # by an attempt of ours whose response was lost
    return next((Refused(kind, error.message) for words, kind in _CONFLICTS if words in error.message), None)
