"""Access to the API server: its address, its CA and our credentials, refreshed while we run."""

import asyncio
import os
import re
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import msgspec

from pilotage.cluster.credentials import exec_credentials
from pilotage.cluster.credentials import kubeconfig as kubeconfig_files
from pilotage.cluster.credentials.credentials import (
    REREAD_AFTER,
    Identity,
    Issued,
    Issuer,
    basic,
    bearer,
    read_file,
    read_token,
)
from pilotage.cluster.credentials.kubeconfig import Cluster, User
from pilotage.cluster.transport.api_errors import NoAccess
from pilotage.cluster.transport.tls import Trust, tls_context

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# A server that rejects everything must not cause a renewal with every request.
_SHORTEST_BETWEEN = 1.0
_RETRY_AFTER = 10.0
DEFAULT_NAMESPACE = "default"
NO_CLUSTER = (
    "no cluster is configured: there is no service account of a pod, and neither $KUBECONFIG nor ~/.kube/config names "
    "a file; name one with --kubeconfig"
)
_HEADER = re.compile(r"[ -~]+")


class Access:
    """A server and an identity; may be shared by clients in several threads."""

    def __init__(
        self, server: str, trust: Trust, ask: Issuer, *, namespace: str = "", clock: Callable[[], float] = monotonic
    ) -> None:
        self.host, self.port, self.base_path, is_secure = _parts(server)
        self.server = server.rstrip("/")
        self.namespace = namespace or DEFAULT_NAMESPACE  # the default namespace
        self.acting_as: tuple[tuple[str, str], ...] = ()  # impersonation headers
        self.server_name = trust.server_name or self.host
        self._trust, self._is_secure = trust, is_secure
        self._ask, self._clock = ask, clock
        self._lock = threading.Lock()
        self._asked_at = self._stale_at = 0.0
        issued = ask()
        self.identity = issued.identity
        self.tls: ssl.SSLContext | None = tls_context(trust, issued.identity.certificate) if is_secure else None
        self._note(issued.seconds)

    @property
    def is_stale(self) -> bool:
        """Whether the credentials must be renewed before use."""
        return self._clock() >= self._stale_at

    async def renew(self, refused: Identity | None = None) -> None:
        """Renew the credentials when due, or after the server rejected them; NoAccess if the latter fails."""
        await asyncio.to_thread(self._renew, refused)

    def _renew(self, refused: Identity | None) -> None:
        with self._lock:
            was_refused = refused is self.identity and self._clock() >= self._asked_at + _SHORTEST_BETWEEN
            if not was_refused and not self.is_stale:
                return
            try:
                self._retry_later()
            except NoAccess:
                if was_refused:
                    raise
                # Files may be in the middle of a change: keep the old credentials until the server rejects them.
                self._note(_RETRY_AFTER)

    def _retry_later(self) -> None:
        issued = self._ask()
        if issued.identity != self.identity:
            if self._is_secure and issued.identity.certificate != self.identity.certificate:
                self.tls = tls_context(self._trust, issued.identity.certificate)
            self.identity = issued.identity
        self._note(issued.seconds)

    def _note(self, seconds: float) -> None:
        self._asked_at = self._clock()
        self._stale_at = self._asked_at + seconds


def find(
    kubeconfig: str = "",
    *,
    master: str = "",
    context: str = "",
    user: str = "",
    groups: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> Access:
    """Find the access by the given kubeconfig, otherwise by the pod's service account, otherwise like kubectl.

    `user` and `groups` impersonate another user, if the API server allows it.
    """
    access = _found(kubeconfig, master, context, environ)
    named = [("Impersonate-User", user)] if user else []
    access.acting_as = (*named, *(("Impersonate-Group", group) for group in groups))
    if not all(_HEADER.fullmatch(value) for _, value in access.acting_as):
        raise NoAccess("the name of an impersonated user or group contains characters that are invalid in headers")
    return access


def context_namespace(kubeconfig: str = "", *, context: str = "", environ: Mapping[str, str] = os.environ) -> str:
    """Return the default namespace of the way that `find` would take, without any credentials."""
    if not kubeconfig and environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        return _own_namespace(SERVICE_ACCOUNT) or DEFAULT_NAMESPACE
    paths = [Path(kubeconfig)] if kubeconfig else _usual_files(environ)
    if not paths:
        raise NoAccess(NO_CLUSTER)
    config = kubeconfig_files.read(paths)
    config.choose(context)
    return config.namespace(context) or DEFAULT_NAMESPACE


def _found(kubeconfig: str, master: str, context: str, environ: Mapping[str, str]) -> Access:
    if kubeconfig or master:
        return from_kubeconfig(kubeconfig, master=master, context=context)
    if environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        return in_cluster(environ)
    if usual := _usual_files(environ):
        return _from_files(usual, context=context)
    raise NoAccess(NO_CLUSTER)


def from_kubeconfig(path: str | None, *, master: str = "", context: str = "") -> Access:
    """Use a kubeconfig; `master` overrides its address; `master` alone means access without credentials."""
    if path:
        return _from_files([Path(path)], master=master, context=context)
    if not master:
        raise NoAccess("no kubeconfig is named; name one with --kubeconfig")
    return Access(master, Trust(), lambda: Issued(Identity()))


def in_cluster(environ: Mapping[str, str] = os.environ, folder: Path | None = None) -> Access:
    """Use the service account that Kubernetes mounts into a pod."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise NoAccess(
            "this is not a pod: $KUBERNETES_SERVICE_HOST and _PORT are not set; name a file with --kubeconfig"
        )
    mounted = folder or SERVICE_ACCOUNT
    trust = Trust(read_file(mounted / "ca.crt", "certificate authority"))
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Access(
        server,
        trust,
        lambda: Issued(Identity(read_token(mounted / "token")), REREAD_AFTER),
        namespace=_own_namespace(mounted),
    )


def _own_namespace(mounted: Path) -> str:
    own = mounted / "namespace"
    return read_file(own, "namespace").decode().strip() if own.exists() else ""


def _usual_files(environ: Mapping[str, str]) -> list[Path]:
    named = [Path(name) for name in environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    return [path for path in dict.fromkeys(named or [_home(environ) / ".kube" / "config"]) if path.is_file()]


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME", "/"))


def _from_files(paths: list[Path], *, master: str = "", context: str = "") -> Access:
    config = kubeconfig_files.read(paths)
    if master and not (context or config.current_context):
        return from_kubeconfig(None, master=master)
    cluster, user = config.choose(context)
    if master:
        cluster = msgspec.structs.replace(cluster, server=master)
    try:
        namespace = config.namespace(context)
        return Access(cluster.server, _trust(cluster), _issuer(cluster, user), namespace=namespace)
    except NoAccess as error:
        raise NoAccess(f"{config.source}: {error}") from error


def _trust(cluster: Cluster) -> Trust:
    if cluster.proxy_url:
        raise NoAccess("proxy-url is not supported; name a server that can be reached without a proxy")
    authorities = cluster.authorities()
    if cluster.insecure_skip_tls_verify and authorities:
        raise NoAccess("insecure-skip-tls-verify and a certificate authority contradict each other; remove one")
    return Trust(authorities, cluster.tls_server_name, cluster.insecure_skip_tls_verify)


def _issuer(cluster: Cluster, user: User) -> Issuer:
    if user.auth_provider is not None:
        raise NoAccess("auth-provider is not supported; use exec, a token or a client certificate")
    if user.impersonates is not None:
        raise NoAccess("impersonation (as) is not supported; use the credentials of that user")
    if (user.token or user.token_file) and (user.username or user.password):
        raise NoAccess("both a token and a password are given; remove one")
    if user.exec is not None and not (user.token or user.token_file or user.username):
        user.exec.check()
        return partial(exec_credentials.run, user.exec, cluster.information())
    return lambda: Issued(_said_by(user), REREAD_AFTER if user.has_files else inf)


def _said_by(user: User) -> Identity:
    if user.token_file:
        authorization = read_token(Path(user.token_file))
    elif user.token:
        authorization = bearer(user.token, "the kubeconfig")
    elif user.username or user.password:
        authorization = basic(user.username, user.password)
    else:
        authorization = ""
    return Identity(authorization, user.certificate())


def _parts(server: str) -> tuple[str, int, str, bool]:
    try:
        found = urlsplit(server)
        port = found.port
    except ValueError:
        found, port = urlsplit(""), None
    odd = found.username is not None or found.query or found.fragment or not server.isprintable() or " " in server
    if found.scheme not in {"https", "http"} or not found.hostname or not server.isascii() or odd:
        raise NoAccess(f"the server {server!r} is not an address like https://host:port")
    is_secure = found.scheme == "https"
    return found.hostname, port or (443 if is_secure else 80), found.path.rstrip("/"), is_secure
