"""The interface of the API client for writers."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

# Called when a request has a connection, right before its first byte, since it may have waited for long.
MaySend: TypeAlias = Callable[[], bool]


class Api(Protocol):
    """Requests to the API server; each raises ApiError, Unreachable or OutcomeUnknown unless it succeeds."""

    async def get(self, path: str) -> bytes:
        """Return an object."""

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object."""

    async def patch(self, path: str, body: bytes) -> bytes:
        """Change an object with a strategic merge patch, and return the result."""

    async def delete(self, path: str, body: bytes) -> bytes:
        """Delete an object."""


class CautiousApi(Protocol):
    """Requests that are not sent, and raise Withheld, if `may_send` returns False right before sending."""

    async def get(self, path: str) -> bytes:
        """Return an object."""

    async def post(self, path: str, body: bytes, *, may_send: MaySend) -> bytes:
        """Create an object."""

    async def patch(self, path: str, body: bytes, *, may_send: MaySend) -> bytes:
        """Change an object with a strategic merge patch, and return the result."""
