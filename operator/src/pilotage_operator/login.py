"""The login of the operator, which kopf's watchers and the official client share."""

from datetime import UTC, datetime, timedelta

import aiohttp
import kopf
from kubernetes.aio.client import ApiClient, Configuration

from pilotage.cluster.credentials.access import Access
from pilotage.cluster.credentials.credentials import Identity
from pilotage.cluster.transport.api_errors import NoAccess, Unreachable

_SAME_LOGIN_FOR = timedelta(minutes=10)
_BUFFER = 1 << 16  # unread bytes until the server must wait


class Login:
    """Access to the API server, with credentials that are reloaded when due or rejected."""

    def __init__(self, access: Access, agent: str) -> None:
        self._access, self._agent = access, agent
        self._tls = access.tls
        self._client: ApiClient | None = None
        self._replaced: ApiClient | None = None
        self.where = f"{access.host} port {access.port}"

    @property
    def identity(self) -> Identity:
        """Return the current credentials."""
        return self._access.identity

    async def client(self) -> ApiClient:
        """Return the client with current credentials."""
        if self._access.is_stale:
            await self._renew(None)
        client, authorization = self._client, self.identity.authorization
        if client is None or self._tls is not self._access.tls:
            client = await self._replace()
        client.configuration.api_key = {"BearerToken": authorization} if authorization else {}
        return client

    async def is_new_after(self, refused: Identity) -> bool:
        """Reload the credentials after the server rejected them, and return whether they differ."""
        await self._renew(refused)
        return self.identity is not refused

    async def for_kopf(self) -> kopf.AiohttpSession:
        """Return a login for kopf, which requests a new one when it is old or rejected."""
        await self._access.renew(self.identity)
        who = self.identity.authorization
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._access.tls or False),
            headers={"User-Agent": f"{self._agent} (kopf)"} | ({"Authorization": who} if who else {}),
        )
        expiration = datetime.now(UTC) + _SAME_LOGIN_FOR if who else None
        return kopf.AiohttpSession(server=self._access.server, aiohttp_session=session, expiration=expiration)

    async def close(self) -> None:
        """Close all connections."""
        for client in (self._client, self._replaced):
            if client is not None:
                await _close(client)
        self._client = self._replaced = None

    async def _renew(self, refused: Identity | None) -> None:
        try:
            await self._access.renew(refused)
        except NoAccess as error:
            raise Unreachable(f"the server rejected the credentials, and there are no others: {error}") from error

    async def _replace(self) -> ApiClient:
        """Create a client for a new client certificate; requests in flight with the previous one may finish."""
        outdated, self._replaced, self._tls = self._replaced, self._client, self._access.tls
        new = self._client = self._new_client()
        if outdated is not None:
            await _close(outdated)
        return new

    def _new_client(self) -> ApiClient:
        # Watches keep their connections; the number of other requests is limited elsewhere. TLS is that of our own
        # access, which trusts the same CAs as Go's clients. Proxies of the environment are not used.
        connector = aiohttp.TCPConnector(limit=0, ssl=self._access.tls or False)
        configuration = Configuration(
            host=self._access.server,
            client_session_kwargs={"connector": connector, "trust_env": False, "read_bufsize": _BUFFER},
        )
        if self._tls is not None and self._access.server_name != self._access.host:
            configuration.tls_server_name = self._access.server_name
        client = ApiClient(configuration)
        client.user_agent = self._agent
        return client


async def _close(client: ApiClient) -> None:
    await client.close()  # type: ignore[no-untyped-call] # untyped in the client
    # The client does not close a connector that it did not create.
    await client.configuration.client_session_kwargs["connector"].close()
