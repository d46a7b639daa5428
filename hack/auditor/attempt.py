"""A binding request in the API server's audit log."""

from dataclasses import dataclass
from typing import Any

from auditor.pod import seconds

CONFLICT = 409


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to bind a pod to a node, and its answer."""

    user: str
    namespace: str
    pod: str
    uid: str
    node: str
    code: int
    received: float
    audit_id: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the API server granted the request."""
        return 200 <= self.code < 300

    @property
    def refused(self) -> bool:
        """Whether the API server found the pod in a state in which it cannot be bound."""
        return self.code == CONFLICT


def attempt_of(event: dict[str, Any]) -> Attempt | None:
    """Decode an audit event, or return None where it is no completed binding request."""
    target = event.get("objectRef") or {}
    if event.get("stage") != "ResponseComplete" or event.get("verb") != "create" or not is_binding(target):
        return None
    if "dryRun=" in event.get("requestURI", ""):
        return None
    asked = event.get("requestObject") or {}
    meta = asked.get("metadata") or {}
    user = event.get("impersonatedUser") or event.get("user") or {}
    return Attempt(
        user=user.get("username", ""),
        namespace=target.get("namespace") or meta.get("namespace", ""),
        pod=target.get("name") or meta.get("name", ""),
        uid=meta.get("uid") or target.get("uid") or "",
        node=(asked.get("target") or {}).get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        received=seconds(event.get("requestReceivedTimestamp") or event.get("stageTimestamp")),
        audit_id=event.get("auditID", ""),
    )


def is_binding(target: dict[str, Any]) -> bool:
    """Return whether an audit event's object is a binding, in either of its two spellings."""
    return (target.get("resource"), target.get("subresource", "")) in (("pods", "binding"), ("bindings", ""))
