"""Authorization of the server's pages: the API server authenticates and authorizes each user."""

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from pilotage.cluster.credentials.certificate_trust import Headers, Trust
from pilotage.cluster.credentials.remembered_answers import RememberedAnswers
from pilotage.cluster.credentials.trust_source import TrustSettings, UnusableTrust, read_trust
from pilotage.cluster.transport.api_calls import Api
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.model.go_text import quoted
from pilotage.model.users import ANONYMOUS as ANONYMOUS_NAME
from pilotage.model.users import MASTERS, User

log = logging.getLogger(__name__)

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ANONYMOUS = User(ANONYMOUS_NAME, groups=("system:unauthenticated",))
MOST_REMEMBERED = 4096

_FAILURES = (ApiError, Unreachable, OutcomeUnknown, TimeoutError, msgspec.MsgspecError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a request is refused: 401, 403, or 500 if the check failed."""

    status: int
    message: str


UNAUTHORIZED = Denial(401, "Unauthorized")


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """The flags --authentication-*, --authorization-* and those about client certificates."""

    # Exact paths, or prefixes that end with a star.
    always_allow_paths: Sequence[str] = ("/healthz", "/readyz", "/livez")
    token_ttl: float = 10.0
    authorized_ttl: float = 10.0
    unauthorized_ttl: float = 10.0
    trust: TrustSettings = TrustSettings()  # noqa: RUF009 - it is frozen
    # Further audiences of tokens besides the API server; reviewed first.
    audiences: Sequence[str] = ()
    lookup_timeout: float = 10.0
    lookups_at_once: int = 16
    trust_refresh: float = 60.0
    trust_retry: float = 5.0


class PathAttributes(msgspec.Struct, frozen=True):
    """A path of a server, and the verb."""

    path: str
    verb: str


class ResourceAttributes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Objects of the API server, and the verb."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""  # "" for all namespaces
    name: str = ""


class _ReviewedUser(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    audiences: list[str] | None = None
    user: _ReviewedUser = msgspec.field(default_factory=_ReviewedUser)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    reason: str = ""


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


_decode_token = msgspec.json.Decoder(_TokenReview).decode
_decode_access = msgspec.json.Decoder(_AccessReview).decode


class DelegatedAuth:
    """Authorizes requests with the API server's help, and caches its answers for a few seconds."""

    def __init__(self, api: Api, settings: AuthSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._settings = settings
        self._trust = Trust()
        # Cached by a digest, so that no tokens and long lists of groups stay in memory.
        self._salt = secrets.token_bytes(32)
        at_once = settings.lookups_at_once
        self._users = RememberedAnswers[_TokenStatus](most=MOST_REMEMBERED, at_once=at_once, clock=clock)
        self._rights = RememberedAnswers[_AccessStatus](most=MOST_REMEMBERED, at_once=at_once, clock=clock)

    def client_authorities(self) -> str:
        """Return, as PEM, the authorities for client certificates."""
        return self._trust.pem

    async def refresh(self) -> bool:
        """Reload the CAs; returns whether that worked, and keeps the old ones if not."""
        try:
            async with asyncio.timeout(self._settings.lookup_timeout):
                self._trust = await read_trust(self._api, self._settings.trust)
        except (*_FAILURES, UnusableTrust) as error:
            log.warning("cannot refresh the client CAs: %s", _words(error))
            return False
        return True

    async def run(self) -> None:
        """Keep the CAs up to date."""
        while True:
            known = await self.refresh()
            await asyncio.sleep(self._settings.trust_refresh if known else self._settings.trust_retry)

    async def judge(self, method: str, path: str, headers: Headers, peer_certificate: bytes | None) -> Denial | None:
        """Return why the request is refused, or None."""
        # 1. Probes need no authorization: they work even without the API server.
        if any(_covers(allowed, path) for allowed in self._settings.always_allow_paths):
            return None
        # 2. authentication
        user = await self.identify(headers, peer_certificate)
        if user is None:
            return UNAUTHORIZED
        # 3. authorization
        return await self._authorize(user, method.lower(), path)

    async def may(self, user: User, wanted: PathAttributes | ResourceAttributes) -> bool | None:
        """Return whether a user may do something; None if the API server did not respond."""
        if MASTERS in user.groups:
            return True
        found = await self._right(user, wanted)
        return None if found is None else found.allowed

    async def identify(self, headers: Headers, peer_certificate: bytes | None) -> User | None:
        """Return the user of a request, possibly anonymous; None if its credentials are not accepted."""
        user = None if peer_certificate is None else self._trust.user(peer_certificate, headers)
        token = _bearer_token(headers)
        if user is None and token:
            user = await self._user_of_token(token)
        elif user is None and peer_certificate is None:
            return ANONYMOUS
        if user is None or user.name == ANONYMOUS.name or "system:authenticated" in user.groups:
            return user
        return replace(user, groups=(*user.groups, "system:authenticated"))

    async def _user_of_token(self, token: str) -> User | None:
        key = self._digest(token.encode())
        found = await self._users.get(key, lambda: self._judge_token(token), lambda _: self._settings.token_ttl)
        if found is None or not found.authenticated:
            return None
        user = found.user
        return User(user.username, user.uid, tuple(user.groups or ()), user.extra or {})

    async def _judge_token(self, token: str) -> _TokenStatus | None:
        if audiences := list(self._settings.audiences):
            found = await self._review_token({"token": token, "audiences": audiences})
            # An authenticator without support for audiences returns none, and has not checked them.
            if found is not None and found.authenticated and set(found.audiences or ()) & set(audiences):
                return found
        return await self._review_token({"token": token})

    async def _review_token(self, spec: dict[str, object]) -> _TokenStatus | None:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        try:
            return _decode_token(await self._ask(TOKEN_REVIEWS, review)).status
        except _FAILURES as error:
            log.warning("the token review failed: %s", _words(error))
            return None

    async def _authorize(self, user: User, verb: str, path: str) -> Denial | None:
        if MASTERS in user.groups:
            return None
        found = await self._right(user, PathAttributes(path, verb))
        if found is None:
            return Denial(500, "the API server did not answer the access review")
        if found.allowed:
            return None
        text = f"forbidden: User {quoted(user.name)} cannot {verb} path {quoted(path)}"
        return Denial(403, f"{text}: {found.reason}" if found.reason else text)

    async def _right(self, user: User, wanted: PathAttributes | ResourceAttributes) -> _AccessStatus | None:
        field = "nonResourceAttributes" if isinstance(wanted, PathAttributes) else "resourceAttributes"
        spec: dict[str, object] = {
            field: msgspec.to_builtins(wanted),
            "user": user.name,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
        }
        key = self._digest(msgspec.json.encode(spec))
        return await self._rights.get(key, lambda: self._review_access(spec), self._lifetime)

    def _digest(self, question: bytes) -> bytes:
        return hashlib.blake2b(question, key=self._salt, digest_size=32).digest()

    def _lifetime(self, answer: _AccessStatus) -> float:
        return self._settings.authorized_ttl if answer.allowed else self._settings.unauthorized_ttl

    async def _review_access(self, spec: dict[str, object]) -> _AccessStatus | None:
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        try:
            return _decode_access(await self._ask(ACCESS_REVIEWS, review)).status
        except _FAILURES as error:
            log.warning("the access review failed: %s", _words(error))
            return None

    async def _ask(self, path: str, review: object) -> bytes:
        async with asyncio.timeout(self._settings.lookup_timeout):
            return await self._api.post(path, msgspec.json.encode(review))


def _covers(allowed: str, path: str) -> bool:
    return path.startswith(allowed[:-1]) if allowed.endswith("*") else path == allowed


def _bearer_token(headers: Headers) -> str:
    scheme, _, rest = next(iter(headers.get("authorization", ())), "").strip().partition(" ")
    # As parsed by the API server: one space, and up to the next one.
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""


def _words(error: BaseException) -> str:
    return str(error) or "no answer in time"
