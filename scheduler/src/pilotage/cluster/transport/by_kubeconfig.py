"""Requests to the API server of a kubeconfig, with our own client."""

from collections.abc import Mapping

from pilotage.cluster.credentials.access import find
from pilotage.cluster.kubectl.refusals import NoCluster, Refused
from pilotage.cluster.kubectl.way import Way
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable, no_response

_NOTHING: Mapping[str, str] = {}


class ByKubeconfig:
    """Sends requests with our own client."""

    def __init__(self, way: Way, agent: str) -> None:
        self._access = find(way.kubeconfig, context=way.context, user=way.user, groups=way.groups)
        self._api = ApiClient(self._access, agent=agent, timeout=60.0)

    @property
    def namespace(self) -> str:
        """The namespace of the context."""
        return self._access.namespace

    async def get(self, path: str, query: Mapping[str, str] = _NOTHING) -> bytes:
        """Read the object at a path."""
        try:
            return await self._api.get(path, query)
        except (ApiError, Unreachable, OutcomeUnknown) as error:
            raise self._not_reached(error) from error

    async def post(self, path: str, body: bytes) -> bytes:
        """Send a document."""
        try:
            return await self._api.post(path, body)
        except (ApiError, Unreachable, OutcomeUnknown) as error:
            raise self._not_reached(error) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()

    def _not_reached(self, error: Exception) -> Exception:
        if isinstance(error, ApiError):
            return Refused(error.status, error.message)
        return NoCluster(no_response(self._access.server, error))
