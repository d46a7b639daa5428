"""Errors, as the API server tells them."""

from typing import Literal

from msgspec import Struct

from pilotage.views.answers.parts import Part


class StatusDetails(Part, frozen=True):
    """What an error is about."""

    name: str = ""  # for a path that only the leader answers: the leader
    kind: str = ""
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An error, as the API server tells one."""

    kind: Literal["Status"]
    api_version: Literal["v1"]
    status: Literal["Failure"]
    message: str
    reason: str
    code: int
    details: StatusDetails | None = None


def failure(code: int, reason: str, message: str, details: StatusDetails | None = None) -> Status:
    """Return an error."""
    return Status(
        kind="Status",
        api_version="v1",
        status="Failure",
        message=message,
        reason=reason,
        code=code,
        details=details,
    )
