"""Our credentials for the API server: fixed, or in files that change while we run."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TypeAlias

from pilotage.cluster.transport.api_errors import NoAccess

LARGEST_FILE = 1 << 20
REREAD_AFTER = 60.0  # seconds, for files that change
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies us: a header, a client certificate followed by its key, or both, or nothing."""

    authorization: str = ""
    certificate: bytes = b""

    def __repr__(self) -> str:
        return "Identity(...)"  # Keep secrets out of logs.


@dataclass(frozen=True, slots=True)
class Issued:
    """An identity, and its validity in seconds."""

    identity: Identity
    seconds: float = inf


# Renews an identity: reads files or runs a command, so it may take a while.
Issuer: TypeAlias = Callable[[], Issued]


def bearer(token: str, source: str) -> str:
    """Return the header's value for a token; NoAccess if the token would break the header."""
    if not _TOKEN.fullmatch(token):
        raise NoAccess(f"the token of {source} is empty or contains spaces or line breaks; renew it")
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    """Return the header's value for a user name and a password."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def read_file(path: Path, what: str) -> bytes:
    """Return the content of a small file; NoAccess names its purpose."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise NoAccess(f"cannot read the {what} {path}: {error.strerror or error}") from error
    if len(content) > LARGEST_FILE:
        raise NoAccess(f"the {what} {path} is larger than {LARGEST_FILE} bytes; that cannot be the right file")
    return content


def read_token(path: Path) -> str:
    """Return the header's value for the token in a file."""
    return bearer(read_file(path, "token file").decode("ascii", "replace").strip(), str(path))
