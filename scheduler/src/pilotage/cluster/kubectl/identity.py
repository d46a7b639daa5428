"""The user's identity for the scheduler: the token or client certificate of the kubeconfig."""

import asyncio
import base64
import json
import os
import re
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotage.cluster.kubectl.refusals import NotReached

LONGEST_RUN = 60.0  # seconds
TOKEN = re.compile(r"[!-~]+")
GIVE = "use --token-from, or a kubeconfig with a token, a client certificate or an exec command"


@dataclass(frozen=True)
class Identity:
    """A header, a client certificate followed by its key, or both."""

    authorization: str = ""
    certificate: bytes = b""

    def __repr__(self) -> str:
        return "Identity(...)"  # Messages must not contain secrets.

    def show(self, context: ssl.SSLContext) -> None:
        """Present the certificate on connections."""
        if not self.certificate:
            return
        # OpenSSL reads files only; this one is private and deleted at once.
        with tempfile.NamedTemporaryFile(prefix="pilotage-") as file:
            file.write(self.certificate)
            file.flush()
            try:
                # Without a password, OpenSSL would ask for one on the terminal.
                context.load_cert_chain(file.name, password="")
            except (ssl.SSLError, ValueError):
                raise NotReached("the client certificate of the kubeconfig is invalid; renew it") from None


async def identity_of(user: dict[str, Any], cluster: dict[str, Any]) -> Identity:
    """Return the identity of a kubeconfig's user; NotReached if it has no credentials."""
    if user.get("token"):
        return Identity(bearer(str(user["token"])))
    if user.get("tokenFile"):
        return Identity(bearer(await asyncio.to_thread(_text, Path(user["tokenFile"]))))
    certificate, key = (_decoded(user.get(f"client-{part}-data", "")) for part in ("certificate", "key"))
    if certificate and key:
        return Identity(certificate=certificate + b"\n" + key)
    if user.get("exec"):
        return await _from_command(user["exec"], cluster)
    raise NotReached(f"the kubeconfig has no credentials that the scheduler accepts; {GIVE}")


def bearer(token: str) -> str:
    """Return the header value for a token; NotReached if it contains what no header may contain."""
    if not TOKEN.fullmatch(token.strip()):
        raise NotReached("the token of the kubeconfig is empty, or contains spaces or line breaks; renew it")
    return f"Bearer {token.strip()}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise NotReached(f"cannot read the token file {path}: {error.strerror}") from error


def _decoded(data: str) -> bytes:
    return base64.b64decode(data)


async def _from_command(plugin: dict[str, Any], cluster: dict[str, Any]) -> Identity:
    """Run an exec command of a kubeconfig, as kubectl does."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = cluster
    info = json.dumps({"apiVersion": plugin.get("apiVersion"), "kind": "ExecCredential", "spec": spec})
    own = {each["name"]: each.get("value", "") for each in plugin.get("env") or ()}
    try:
        child = await asyncio.create_subprocess_exec(
            plugin["command"],
            *(plugin.get("args") or ()),
            env={**os.environ, **own, "KUBERNETES_EXEC_INFO": info},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None,  # its messages are for the user
        )
        out, _ = await asyncio.wait_for(child.communicate(), LONGEST_RUN)
        status = json.loads(out)["status"]
    except (OSError, ValueError, KeyError, TypeError, TimeoutError) as error:
        name = Path(str(plugin.get("command"))).name
        raise NotReached(
            f"the exec command {name} returned no credentials ({error}); run it by hand to see why"
        ) from error
    if status.get("token"):
        return Identity(bearer(status["token"]))
    pair = f"{status.get('clientCertificateData', '')}\n{status.get('clientKeyData', '')}\n"
    return Identity(certificate=pair.encode())
