"""Retries of failed writes."""

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
_PAUSES = (0.010, 0.050, 0.250)  # four attempts, like every writer of kube-scheduler
_JITTER = 0.1
_LONGEST_PAUSE = 10.0  # the maximum for Retry-After


def pause_after(attempt: int, failure: Failure, passing: frozenset[int]) -> float | None:
    """Return the delay after this attempt (the first is 0); None if it was the last.

    `passing` are the statuses worth a retry.
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
    """Return the server's Retry-After, within limits."""
    asked = failure.retry_after if isinstance(failure, ApiError) else None
    return min(asked or 0.0, _LONGEST_PAUSE)


async def with_retries(call: Callable[[], Awaitable[bytes]], passing: frozenset[int]) -> bytes:
    """Repeat an idempotent call until it succeeds, fails permanently, or runs out of attempts."""
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
    """Return whether a write was rejected because the pod of that name now has another UID."""
    if error.status == 409:
        return "UID in precondition" in error.message or "UID in the precondition" in error.message
    # For the server, a patch with another UID is an attempt to change the UID.
    return error.status == 422 and "metadata.uid" in error.message


def means_gone(failure: Failure) -> bool:
    """Return whether a write failed because the pod was deleted."""
    return isinstance(failure, ApiError) and (failure.status == 404 or means_another_pod(failure))


def words_of(failure: Failure) -> str:
    """Return the text of a failure: the server's own message if there is one."""
    return failure.message if isinstance(failure, ApiError) else str(failure)
