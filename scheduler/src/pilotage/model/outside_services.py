"""External services that a profile configures, and the credentials that they may receive.

The author of a profile chooses which services the scheduler calls. This must not leak the scheduler's own secrets:
credentials are read from one dedicated directory, and sent only over TLS, to hosts that the cluster's owner lists.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

CREDENTIALS = "/etc/pilotage/credentials"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # where the scheduler's own token is
# Its CA certificates are in every pod of the cluster: they are not secret, and sign most services in it.
AUTHORITIES = (f"{ACCOUNT}/ca.crt", f"{ACCOUNT}/service-ca.crt")

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9.])?"
_HOST = rf"(?P<host>{_NAME}|\[[0-9A-Fa-f:.]+\])"
# Only URLs for which all parsers agree about the host.
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://((?P<user>[A-Za-z0-9._~!$&'()*+,;=:%-]*)@)?"
    rf"{_HOST}(:(?P<port>[0-9]{{1,5}}))?(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?",
    re.IGNORECASE,
)
_ENTRY = re.compile(rf"(?P<any>\*\.)?{_HOST}(:(?P<port>[0-9]{{1,5}}))?", re.IGNORECASE)
_PORTS = {"https": 443, "http": 80}

Refusal = tuple[str, str]  # the field, and why not


@dataclass(frozen=True)
class OutsideRules:
    """The limits for profiles, set by the owner of the cluster; None: unknown and not validated."""

    directory: str = CREDENTIALS
    hosts: tuple[str, ...] | None = ()
    secrets: tuple[str, ...] | None = None  # mounted in the directory


@dataclass(frozen=True)
class Service:
    """A service to call; field names are those of the profile."""

    address: str
    field: str  # the field with the address
    files: tuple[tuple[str, str], ...] = ()  # to be read for it, by field
    secrets: tuple[tuple[str, str], ...] = ()  # the names of referenced ones, by field
    inline: tuple[tuple[str, str], ...] = ()  # fields that contain a credential, and what to use instead
    shows: str = ""  # the credential sent to it: a token, a client certificate
    other_way: str = "remove them"  # the alternative to a user and a password in the address
    trusts_anybody: str = ""  # the field that disables verification, which would expose the credential


def refusals(service: Service, rules: OutsideRules) -> Iterator[Refusal]:
    """Yield why a service may not be called with these settings."""
    found = _ADDRESS.fullmatch(service.address)
    if found is None:
        yield service.field, "must be an http:// or https:// URL with a host, maybe a port and a path, and nothing else"
        return
    yield from _of_files(service, rules)
    if service.shows and found["scheme"].lower() != "https":
        yield service.field, f"{service.shows} is sent only over https://; change the address, or send none"
    if service.shows and service.trusts_anybody:
        text = f"{service.shows} is sent only where the certificate is checked; remove it, and name the CA"
        yield service.trusts_anybody, text
    if rules.hosts is not None and (service.shows or rules.hosts) and not _is_listed(found, rules.hosts):
        what = f"{found['host']} is not a host that {'may get ' + service.shows if service.shows else 'may be called'}"
        yield service.field, f"{what}; list it in scheduler.allowedHosts of the chart (--allowed-hosts)"


def inline_credentials(service: Service) -> Iterator[Refusal]:
    """Yield the fields that contain a credential."""
    read = "all users who can read the profile could see it"
    yield from ((field, f"a credential is not allowed here: {read}; {instead}") for field, instead in service.inline)
    found = _ADDRESS.fullmatch(service.address)
    if found is not None and found["user"] is not None:
        yield service.field, f"a user and a password are not allowed here: {read}; {service.other_way}"


def _of_files(service: Service, rules: OutsideRules) -> Iterator[Refusal]:
    how = "let the chart mount its Secret there with scheduler.credentials.secrets"
    for field, path in service.files:
        is_public = field.endswith("caFile") and path in AUTHORITIES
        if not is_public and not is_below(path, rules.directory):
            yield field, f"only files below {rules.directory} may be read for a profile; {how}"
    for field, name in service.secrets:
        if rules.secrets is not None and name not in rules.secrets:
            yield field, f"the Secret {name} is not mounted; add it to scheduler.credentials.secrets of the chart"


def is_below(path: str, directory: str) -> bool:
    """Return whether a path is below a directory, lexically; links are checked elsewhere."""
    parts, inside = PurePosixPath(path).parts, PurePosixPath(directory).parts
    return "\0" not in path and ".." not in parts and len(parts) > len(inside) and parts[: len(inside)] == inside


def secret_file(directory: str, name: str, key: str) -> str:
    """Return the path of one key of a mounted Secret."""
    return f"{directory}/{name}/{key}"


def wrong_directory(directory: str) -> str:
    """Return why a directory is not allowed for credentials; empty if it is."""
    if not directory.startswith("/") or ".." in PurePosixPath(directory).parts:
        return "it must be an absolute path without .."
    both = (directory, ACCOUNT), (ACCOUNT, directory)
    if any(PurePosixPath(one) == PurePosixPath(other) or is_below(one, other) for one, other in both):
        return f"with {ACCOUNT} in it, or around it, profiles could send the scheduler's own token anywhere"
    return ""


def wrong_host(entry: str) -> str:
    """Return why an entry of the list of hosts is invalid; empty if it is valid."""
    if _ENTRY.fullmatch(entry):
        return ""
    return f"{entry!r:.80} is not a host; write HOST, HOST:PORT or *.DOMAIN, without http:// and without a path"


def _is_listed(address: "re.Match[str]", hosts: tuple[str, ...]) -> bool:
    host, port = _plain(address["host"]), int(address["port"] or _PORTS[address["scheme"].lower()])
    for entry in filter(None, map(_ENTRY.fullmatch, hosts)):
        listed = _plain(entry["host"])
        is_same = host.endswith(f".{listed}") if entry["any"] else host == listed
        if is_same and (entry["port"] is None or int(entry["port"]) == port):
            return True
    return False


def _plain(host: str) -> str:
    return host.lower().rstrip(".")
