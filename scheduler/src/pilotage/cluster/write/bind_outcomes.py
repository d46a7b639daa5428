"""What can become of a binding, and how the API server's answers say it."""

from dataclasses import dataclass
from enum import StrEnum

from pilotage.cluster.transport.api_errors import ApiError
from pilotage.cluster.write.write_retries import means_another_pod


class Refusal(StrEnum):
    """Why a pod was not bound, by what its scheduler has to do next."""

    NOT_ALLOWED = "not allowed"  # we may not bind it any more: not the leader, or the node or the pod is not there
    GONE = "gone"  # deleted, or replaced by another pod of the same name
    DELETING = "deleting"
    ELSEWHERE = "elsewhere"  # somebody bound it to another node
    GATED = "gated"
    FORBIDDEN = "forbidden"
    FAILED = "failed"  # anything else, also after all attempts


@dataclass(frozen=True, slots=True)
class Bound:
    """The pod is on the node that was chosen."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The pod is not on the node that was chosen; the message is the API server's own where it gave one."""

    kind: Refusal
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Whether the pod is on the node could not be learnt; nobody else may have its place."""


BindOutcome = Bound | Refused | Unknown

# What the server says in a 409, in the order in which it looks.
_CONFLICTS = (
    ("is being deleted, cannot be assigned to a host", Refusal.DELETING),
    ("is already assigned to node ", Refusal.ELSEWHERE),
    ("has non-empty .spec.schedulingGates", Refusal.GATED),
)


def read_refusal(error: ApiError, node: str) -> Bound | Refused | None:
    """Return what an answer says about the pod for good; None if that is still open."""
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
        return Bound()  # by an attempt of ours whose answer was lost
    return next((Refused(kind, error.message) for words, kind in _CONFLICTS if words in error.message), None)
