"""Reads the kubeconfig of a test cluster."""

import base64
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class BadKubeconfig(ValueError):
    """An unusable kubeconfig; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach the API server."""

    server: str
    tls: ssl.SSLContext | bool
    headers: dict[str, str]


def access_of(path: Path) -> Access:
    """Read the current context of a kubeconfig file."""
    try:
        config = yaml.safe_load(path.read_text())
        context = named(config, "contexts", "context", config.get("current-context"))
        cluster = named(config, "clusters", "cluster", context.get("cluster"))
        user = named(config, "users", "user", context.get("user"))
        return Access(
            str(cluster["server"]).rstrip("/"), tls_of(cluster, user, path.parent), headers_of(user, path.parent)
        )
    except BadKubeconfig as error:
        raise BadKubeconfig(f"{path}: {error}") from error
    except (OSError, ValueError, KeyError, AttributeError, TypeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise BadKubeconfig(
            f"cannot read the kubeconfig {path} ({reason}); name a file that kubectl accepts"
        ) from error


def named(config: dict[str, Any], many: str, one: str, name: str | None) -> dict[str, Any]:
    """Return the entry of that name in one of the kubeconfig's lists."""
    for entry in config.get(many) or ():
        if entry.get("name") == name:
            return entry.get(one) or {}
    raise BadKubeconfig(f"there is no entry {name!r} under {many}; choose one with kubectl config use-context")


def headers_of(user: dict[str, Any], folder: Path) -> dict[str, str]:
    """Return what identifies a user that has a token."""
    if "exec" in user or "auth-provider" in user:
        raise BadKubeconfig("authentication by a command is not supported; use a client certificate or a token")
    token = user.get("token") or ((folder / user["tokenFile"]).read_text().strip() if "tokenFile" in user else "")
    return {"Authorization": f"Bearer {token}"} if token else {}


def tls_of(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> ssl.SSLContext | bool:
    """Return the trusted CA and the client certificate."""
    if not cluster["server"].startswith("https:"):
        return False
    authority = content(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = content(user, "client-certificate", folder), content(user, "client-key", folder)
    if certificate and key:
        show(context, certificate, key)
    return context


def content(entry: dict[str, Any], name: str, folder: Path) -> bytes | None:
    """Return what an entry holds inline or names as a file."""
    if inline := entry.get(f"{name}-data"):
        return base64.b64decode(inline)
    return (folder / entry[name]).read_bytes() if entry.get(name) else None


def show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Give the context a client certificate; Python loads one only from a file, which is gone right after."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
