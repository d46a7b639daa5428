"""Errors in the format of the API server: a metav1.Status."""

import msgspec

from pilotage.app.read_api.budget import Busy
from pilotage.app.read_api.feed import TooManyStreams
from pilotage.app.read_api.rights import Forbidden, TooManyNamespaces, Unanswered
from pilotage.offline.what_if import worlds
from pilotage.offline.what_if.request import WrongRequest
from pilotage.offline.what_if.world import TooLarge
from pilotage.telemetry.pages import JSON, Answer
from pilotage.views.answers import StatusDetails, failure
from pilotage.views.paging import Expired, InvalidQuestion

NO_STORE = {"Cache-Control": "no-store, private"}
CHOOSE = "you may not list pods in all namespaces, and there are too many to check each; choose one: ?namespace=NAME"
GONE = "the continue token has expired; start again without it"
NO_ROOM = "too many streams are open; try again later"
UNKNOWN = "the API server did not answer what you may see; try again"
NO_TIME = "the scheduler is busy placing pods; try again"


class NotFound(Exception):
    """It does not exist; the text says what."""


def refusal(error: Exception) -> Answer | None:
    """Return the answer for an expected error; None for any other."""
    match error:
        case InvalidQuestion():
            return failed(400, "BadRequest", str(error))
        case TooManyNamespaces():
            return failed(400, "BadRequest", CHOOSE)
        case Forbidden():
            return failed(403, "Forbidden", str(error))
        case NotFound():
            return failed(404, "NotFound", str(error))
        case Expired():
            return failed(410, "Expired", GONE)
        case TooLarge():
            return failed(413, "RequestEntityTooLarge", str(error))
        case WrongRequest():
            return failed(422, "Invalid", str(error))
        case TooManyStreams():
            return failed(429, "TooManyRequests", NO_ROOM, wait=5)
        case Unanswered():
            return failed(503, "ServiceUnavailable", UNKNOWN, wait=1)
        case Busy() | worlds.Busy():
            return failed(503, "ServiceUnavailable", str(error) or NO_TIME, wait=1)
        case _:
            return None


def failed(code: int, reason: str, message: str, *, leader: str | None = None, wait: int = 0) -> Answer:
    """Return an error; with `wait`, it says when to try again."""
    details = None
    if leader is not None or wait:
        details = StatusDetails(name=leader or "", kind="pods" if leader else "", retry_after_seconds=wait)
    headers = {**NO_STORE, **({"Retry-After": str(wait)} if wait else {})}
    return Answer(code, msgspec.json.encode(failure(code, reason, message, details)), JSON, headers)


def who_leads(leader: str) -> str:
    """Return why another replica does not answer."""
    return (
        f"only the leader answers this: {leader}"
        if leader
        else "only the leader answers this, and no replica leads now"
    )
