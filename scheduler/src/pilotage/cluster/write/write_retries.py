"""Which failed writes are worth another attempt, and when."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable

FAILURES = (ApiError, Unreachable, OutcomeUnknown)
Failure = ApiError | Unreachable | OutcomeUnknown

PASSING = frozenset({500, 503})
PASSING_OR_CONFLICT = PASSING | {409}

_TOO_MANY_REQUESTS = 429
_PAUSES = (0.010, 0.050, 0.250)  # four attempts, as every writer of kube-scheduler makes
_JITTER = 0.1
_LONGEST_PAUSE = 10.0  # a server that asks for more is asked again all the same


def pause_after(attempt: int, failure: Failure, passing: frozenset[int]) -> float | None:
    """Return the seconds before the attempt after this one, of which the first is 0; None if there is none.

    `passing` are the statuses that another attempt may not meet again.
    """
    if attempt >= len(_PAUSES):
        return None
    pause = _PAUSES[attempt] * (1 + _JITTER * random.random())  # noqa: S311 - no secret
    if not isinstance(failure, ApiError):
        return pause
    if failure.status != _TOO_MANY_REQUESTS and (failure.status not in passing or means_another_pod(failure)):
        return None
    return max(pause, asked_pause(failure))


def asked_pause(failure: Failure) -> float:
    """Return the seconds that the server asked to be left alone, within reason."""
    asked = failure.retry_after if isinstance(failure, ApiError) else None
    return min(asked or 0.0, _LONGEST_PAUSE)


async def with_retries(call: Callable[[], Awaitable[bytes]], passing: frozenset[int]) -> bytes:
    """Make a call that is safe to repeat until it succeeds, fails for good, or has been tried often enough."""
    for attempt in count():
        try:
            return await call()
        except FAILURES as failure:
            pause = pause_after(attempt, failure, passing)
            if pause is None:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("count() does not end")


def means_another_pod(error: ApiError) -> bool:
    """Return whether a write was refused because the pod of that name is no longer the one that was meant."""
    if error.status == 409:
        return "UID in precondition" in error.message or "UID in the precondition" in error.message
    # A patch whose uid is another one is an attempt to change the uid.
    return error.status == 422 and "metadata.uid" in error.message


def means_gone(failure: Failure) -> bool:
    """Return whether a write failed because the pod that was meant is gone."""
    return isinstance(failure, ApiError) and (failure.status == 404 or means_another_pod(failure))


def words_of(failure: Failure) -> str:
    """Return the text of a failure: the server's own where it answered."""
    return failure.message if isinstance(failure, ApiError) else str(failure)
