"""Credentials for registries, from the configuration file of `docker login`."""

import base64
import binascii
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localcluster.errors import Problem


@dataclass(frozen=True)
class Login:
    """A user and a password or token."""

    user: str
    password: str

    def basic(self) -> str:
        """The value of an Authorization header."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


def find_login(host: str, environment: Mapping[str, str] = os.environ) -> Login | None:
    """What the configuration file of docker has for a host; None if it has nothing."""
    file = _file(environment)
    if not file.is_file():
        return None
    try:
        known = json.loads(file.read_text())
    except ValueError as error:
        raise Problem(
            f"{file} is not JSON ({error}); repair it, or move it away and run: docker login {host}"
        ) from error
    helper = known.get("credHelpers", {}).get(host) or known.get("credsStore")
    return _from_file(known, host, file) or (_from_helper(helper, host) if helper else None)


def _file(environment: Mapping[str, str]) -> Path:
    home = environment.get("DOCKER_CONFIG") or Path(environment.get("HOME") or "/", ".docker")
    return Path(home) / "config.json"


def _from_file(known: Mapping[str, Any], host: str, file: Path) -> Login | None:
    entries = known.get("auths", {})
    entry: Mapping[str, str] = next((entries[key] for key in _keys(host) if entries.get(key)), {})
    if not entry.get("auth"):
        return None
    try:
        user, _, password = base64.b64decode(entry["auth"], validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Problem(f"The entry of {host} in {file} cannot be read; write it again: docker login {host}") from error
    return Login(user, password)


def _from_helper(helper: str, host: str) -> Login | None:
    program = f"docker-credential-{helper}"
    try:
        done = subprocess.run([program, "get"], input=host, capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError as error:
        raise Problem(
            f"docker's configuration file keeps passwords with {program}, which is not in PATH; "
            f"install it, or set DOCKER_CONFIG to a folder of its own and run: docker login {host}"
        ) from error
    if done.returncode:
        return None
    answer = json.loads(done.stdout)
    return Login(answer["Username"], answer["Secret"])


def _keys(host: str) -> list[str]:
    """The names under which docker keeps a host."""
    keys = [host, f"https://{host}", f"http://{host}", f"https://{host}/v2/", f"https://{host}/v1/"]
    return ["https://index.docker.io/v1/", *keys] if host == "docker.io" else keys
