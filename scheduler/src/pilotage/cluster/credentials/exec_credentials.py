"""Credentials from a command: exec plugins, as in kubeconfigs of cloud providers."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from pilotage.cluster.credentials.credentials import Identity, Issued, bearer
from pilotage.cluster.transport.api_errors import NoAccess

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
LONGEST_RUN = 60.0
_SHORTEST = 1.0
_LARGEST_OUTPUT = 1 << 20
_LONGEST_QUOTE = 500


class Variable(msgspec.Struct, frozen=True):
    """A variable of the command's environment."""

    name: str
    value: str = ""


class ExecPlugin(msgspec.Struct, rename="camel", frozen=True):
    """The command of a kubeconfig."""

    command: str
    api_version: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"

    def check(self) -> None:
        """Reject settings that cannot work."""
        if self.api_version not in VERSIONS:
            answer = f"{self.api_version!r} is not supported; use {' or '.join(VERSIONS)}"
            raise NoAccess(f"the apiVersion of the credential command {self.command!r} {answer}")
        if self.interactive_mode == "Always":
            problem = "requires a terminal (interactiveMode: Always), and there is none"
            raise NoAccess(f"the credential command {self.command!r} {problem}; use a token or a client certificate")


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status


def run(plugin: ExecPlugin, cluster: Mapping[str, Any]) -> Issued:
    """Run the command and parse the credentials that it prints; NoAccess if that fails."""
    output = _output(plugin, _environment(plugin, cluster))
    try:
        credential = msgspec.json.decode(output, type=_ExecCredential)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _failure(plugin, f"printed no ExecCredential ({error})") from None
    if credential.kind != "ExecCredential" or credential.api_version != plugin.api_version:
        said = f"{credential.api_version} {credential.kind}"
        raise _failure(plugin, f"printed {said!r} instead of an ExecCredential of {plugin.api_version}")
    return Issued(_identity(plugin, credential.status), _seconds_left(credential.status))


def _environment(plugin: ExecPlugin, cluster: Mapping[str, Any]) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = cluster
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    own = {variable.name: variable.value for variable in plugin.env}
    return {**os.environ, **own, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def _output(plugin: ExecPlugin, environment: dict[str, str]) -> bytes:
    program = shutil.which(plugin.command, path=environment.get("PATH"))
    if program is None:
        raise _failure(plugin, "was not found, or is not executable", hint=plugin.install_hint)
    try:
        done = subprocess.run(
            [program, *plugin.args],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_RUN,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _failure(plugin, f"did not finish within {LONGEST_RUN:.0f} seconds") from None
    except (OSError, ValueError) as error:
        raise _failure(plugin, f"could not be run: {error}", hint=plugin.install_hint) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-_LONGEST_QUOTE:] or "nothing"
        raise _failure(plugin, f"failed with exit code {done.returncode} and printed: {said}")
    if len(done.stdout) > _LARGEST_OUTPUT:
        raise _failure(plugin, f"printed more than {_LARGEST_OUTPUT} bytes")
    return done.stdout


def _identity(plugin: ExecPlugin, status: _Status) -> Identity:
    certificate, key = status.client_certificate_data, status.client_key_data
    if bool(certificate) != bool(key) or not (certificate or status.token):
        raise _failure(plugin, "printed neither a token nor a client certificate with its key")
    authorization = bearer(status.token, f"the credential command {plugin.command!r}") if status.token else ""
    return Identity(authorization, f"{certificate}\n{key}\n".encode() if certificate else b"")


def _seconds_left(status: _Status) -> float:
    if status.expiration_timestamp is None:
        return inf
    expires = status.expiration_timestamp
    left = (expires if expires.tzinfo else expires.replace(tzinfo=UTC)) - datetime.now(UTC)
    # A wrong clock must not run the command for every request.
    return max(_SHORTEST, left.total_seconds())


def _failure(plugin: ExecPlugin, problem: str, *, hint: str = "") -> NoAccess:
    advice = f"; {hint.strip()}" if hint else "; run it by hand to see what it prints"
    return NoAccess(f"the credential command {Path(plugin.command).name!r} {problem}{advice}")
