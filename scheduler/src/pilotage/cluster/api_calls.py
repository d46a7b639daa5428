"""What those who write to the API need of a client."""

from typing import Protocol


class Api(Protocol):
    """Requests to the API server; each raises ApiError, Unreachable or OutcomeUnknown unless it succeeds."""

    async def get(self, path: str) -> bytes:
        """Return an object."""

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object."""

    async def patch(self, path: str, body: bytes) -> bytes:
        """Change an object by a strategic merge patch, and return what became of it."""

    async def delete(self, path: str, body: bytes) -> bytes:
        """Delete an object."""
