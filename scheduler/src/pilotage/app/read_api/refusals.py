"""What cannot be answered, as the API server would say it: a metav1.Status."""

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
CHOOSE = "you may not list all pods, and there are many namespaces; choose one: ?namespace=NAME"
GONE = "what the token is about is not kept any more; begin anew without it"
NO_ROOM = "there are too many streams; try again later"
UNKNOWN = "the API server did not say what you may see; try again"
NO_TIME = "pods are being placed, and there is no time for this now; try again"


class NotFound(Exception):
    """There is no such thing; the text says what there is not."""


def refusal(error: Exception) -> Answer | None:
    """Return how it is told that something cannot be answered; None for what should not have happened."""
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
    """Return an error; one that time heals says when to try again."""
    details = None
    if leader is not None or wait:
        details = StatusDetails(name=leader or "", kind="pods" if leader else "", retry_after_seconds=wait)
    headers = {**NO_STORE, **({"Retry-After": str(wait)} if wait else {})}
    return Answer(code, msgspec.json.encode(failure(code, reason, message, details)), JSON, headers)


def who_leads(leader: str) -> str:
    """Return why a replica does not answer what only the leader knows."""
    return f"only the leader answers this, and that is {leader or 'nobody now'}"
