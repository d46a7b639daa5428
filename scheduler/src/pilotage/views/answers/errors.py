"""Errors, in the format of the API server."""

from typing import Literal

from msgspec import Struct

from pilotage.views.answers.parts import Part


class StatusDetails(Part, frozen=True):
    """Details of an error."""

    name: str = ""  # the pod that leads, if only the leader answers
    kind: str = ""
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An error, in the format of the API server."""

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
