"""Reads kubeconfig files: merges several, where the first value wins, and resolves paths."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from pilotage.cluster.credentials.credentials import read_file
from pilotage.cluster.credentials.exec_credentials import ExecPlugin
from pilotage.cluster.transport.api_errors import NoAccess

_DEEPEST = 50
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
# The parser in C is ten times faster.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Extension(msgspec.Struct, frozen=True):
    """An extension added by a tool."""

    name: str = ""
    extension: Any = None


class Cluster(msgspec.Struct, rename="kebab", frozen=True):
    """A cluster's address and trust."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: tuple[Extension, ...] = ()

    def authorities(self) -> bytes:
        """Return the certificates of the authorities; empty without any."""
        return _content(self.certificate_authority_data, self.certificate_authority, "certificate-authority")

    def information(self) -> dict[str, Any]:
        """Return the cluster info for a credential command."""
        facts = {
            "server": self.server,
            "tls-server-name": self.tls_server_name,
            "insecure-skip-tls-verify": self.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(self.authorities()).decode(),
            "config": next((each.extension for each in self.extensions if each.name == _EXEC_EXTENSION), None),
        }
        return {name: value for name, value in facts.items() if value}


class User(msgspec.Struct, rename="kebab", frozen=True):
    """The credentials of a user."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: ExecPlugin | None = None
    auth_provider: Any = None
    impersonates: Any = msgspec.field(default=None, name="as")

    def certificate(self) -> bytes:
        """Return the client certificate followed by its key; empty without one."""
        certificate = _content(self.client_certificate_data, self.client_certificate, "client-certificate")
        key = _content(self.client_key_data, self.client_key, "client-key")
        if bool(certificate) != bool(key):
            raise NoAccess("a client certificate needs its key, and a key its certificate; give both")
        return certificate + b"\n" + key if certificate else b""

    @property
    def has_files(self) -> bool:
        """Whether the credentials are in files, which may change."""
        return bool(self.token_file or self.client_certificate or self.client_key)


class Context(msgspec.Struct, frozen=True):
    """A cluster, a user and the default namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


_EntryT = TypeVar("_EntryT", Cluster, User)


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct):
    name: str
    user: User = User()


class _NamedContext(msgspec.Struct):
    name: str
    context: Context = Context()


class _File(msgspec.Struct, rename="kebab"):
    kind: str = "Config"
    current_context: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []


@dataclass
class Kubeconfig:
    """All files, merged."""

    source: str
    current_context: str = ""
    clusters: dict[str, Cluster] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)

    def namespace(self, context: str = "") -> str:
        """Return the namespace of a context, "" if it names none."""
        return self.contexts.get(context or self.current_context, Context()).namespace

    def choose(self, context: str = "") -> tuple[Cluster, User]:
        """Return the cluster and the user of a context, the current one if none is named."""
        name = context or self.current_context
        if not name:
            raise NoAccess(f"{self.source}: no context is chosen; run kubectl config use-context NAME")
        if name not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise NoAccess(f"{self.source}: there is no context {name!r}; there is {known}")
        chosen = self.contexts[name]
        if chosen.cluster not in self.clusters:
            raise NoAccess(
                f"{self.source}: the context {name!r} names the cluster {chosen.cluster!r}, which does not exist"
            )
        if chosen.user and chosen.user not in self.users:
            raise NoAccess(f"{self.source}: the context {name!r} names the user {chosen.user!r}, which does not exist")
        return self.clusters[chosen.cluster], self.users.get(chosen.user, User())


def read(paths: Sequence[Path]) -> Kubeconfig:
    """Read and merge the files; the first value wins."""
    merged = Kubeconfig(", ".join(map(str, paths)))
    for path in paths:
        one = _read_one(path)
        folder = path.absolute().parent
        merged.current_context = merged.current_context or one.current_context
        for each in one.clusters:
            merged.clusters.setdefault(each.name, _placed(each.cluster, folder, "certificate_authority"))
        for entry in one.users:
            user = _placed(entry.user, folder, "client_certificate", "client_key", "token_file")
            merged.users.setdefault(entry.name, _with_command(user, folder))
        for context in one.contexts:
            merged.contexts.setdefault(context.name, context.context)
    return merged


def _read_one(path: Path) -> _File:
    content = read_file(path, "kubeconfig")
    try:
        _check(content)
        # This loader only creates plain values.
        value = yaml.load(content, _Loader)  # noqa: S506
        found = msgspec.convert(_without_nulls({} if value is None else value), _File)
    except (yaml.YAMLError, msgspec.ValidationError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise NoAccess(f"{path}: this is not a kubeconfig ({reason}); name a file that kubectl accepts") from error
    if found.kind != "Config":
        raise NoAccess(f"{path}: this is a {found.kind}, not a kubeconfig; name a file that kubectl accepts")
    return found


def _check(content: bytes) -> None:
    depth = 0
    for event in yaml.parse(content, _Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("anchors and aliases are not supported")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"nested deeper than {_DEEPEST} levels")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _placed(entry: _EntryT, folder: Path, *names: str) -> _EntryT:
    written = {name: getattr(entry, name) for name in names}
    return msgspec.structs.replace(entry, **{name: str(folder / path) for name, path in written.items() if path})


def _with_command(user: User, folder: Path) -> User:
    command = user.exec.command if user.exec else ""
    # A bare name is looked up in $PATH; a relative path is relative to the file.
    if user.exec is None or "/" not in command:
        return user
    return msgspec.structs.replace(user, exec=msgspec.structs.replace(user.exec, command=str(folder / command)))


def _content(data: str, path: str, what: str) -> bytes:
    if not data:
        return read_file(Path(path), what) if path else b""
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except binascii.Error as error:
        raise NoAccess(f"{what}-data is not valid base64; copy it again from its source") from error
