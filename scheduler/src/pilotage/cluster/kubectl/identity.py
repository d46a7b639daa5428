"""Who asks the scheduler: the token or the client certificate that a kubeconfig has for the API server."""

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
GIVE = "give --token-from, or a kubeconfig with a token, a client certificate or a credential command"


@dataclass(frozen=True)
class Identity:
    """A header, a client certificate followed by its key, or both."""

    authorization: str = ""
    certificate: bytes = b""

    def __repr__(self) -> str:
        return "Identity(...)"  # A secret has no place in a message.

    def show(self, context: ssl.SSLContext) -> None:
        """Let connections show the certificate."""
        if not self.certificate:
            return
        # OpenSSL takes files only; this one is readable by nobody else and gone at once.
        with tempfile.NamedTemporaryFile(prefix="pilotage-") as file:
            file.write(self.certificate)
            file.flush()
            try:
                # Without a password of ours OpenSSL would ask for one on the terminal.
                context.load_cert_chain(file.name, password="")
            except (ssl.SSLError, ValueError):
                raise NotReached("the client certificate of the kubeconfig cannot be used; renew it") from None


async def identity_of(user: dict[str, Any], cluster: dict[str, Any]) -> Identity:
    """Return who a user of a kubeconfig is; NotReached if it names nobody."""
    if user.get("token"):
        return Identity(bearer(str(user["token"])))
    if user.get("tokenFile"):
        return Identity(bearer(await asyncio.to_thread(_text, Path(user["tokenFile"]))))
    certificate, key = (_decoded(user.get(f"client-{part}-data", "")) for part in ("certificate", "key"))
    if certificate and key:
        return Identity(certificate=certificate + b"\n" + key)
    if user.get("exec"):
        return await _from_command(user["exec"], cluster)
    raise NotReached(f"the kubeconfig has nothing that the scheduler could know you by; {GIVE}")


def bearer(token: str) -> str:
    """Return the header's value for a token, which is refused if it would break out of the header."""
    if not TOKEN.fullmatch(token.strip()):
        raise NotReached("the token of the kubeconfig is empty or holds blanks or line breaks; renew it")
    return f"Bearer {token.strip()}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise NotReached(f"cannot read the token file {path}: {error.strerror}") from error


def _decoded(data: str) -> bytes:
    return base64.b64decode(data)


async def _from_command(plugin: dict[str, Any], cluster: dict[str, Any]) -> Identity:
    """Run a credential command, as kubectl does."""
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
            stderr=None,  # what it has to say is for the person
        )
        out, _ = await asyncio.wait_for(child.communicate(), LONGEST_RUN)
        status = json.loads(out)["status"]
    except (OSError, ValueError, KeyError, TypeError, TimeoutError) as error:
        name = Path(str(plugin.get("command"))).name
        raise NotReached(f"the credential command {name} gives no credentials ({error}); run it by hand") from error
    if status.get("token"):
        return Identity(bearer(status["token"]))
    pair = f"{status.get('clientCertificateData', '')}\n{status.get('clientKeyData', '')}\n"
    return Identity(certificate=pair.encode())
