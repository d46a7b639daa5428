"""What the oracle asks of an API server, by plain manifests."""

import json
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from kit.admin import JSON, MERGE_PATCH, Admin, Refused
from oracle.kinds import KINDS
from oracle.scenario import Manifest, key_of

AT_ONCE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
YAML = "application/yaml"
SECONDS = 30


class Server(NamedTuple):
    """Where to ask, and the folder of the certificates."""

    server: str
    pki: Path


class Client:
    """The admin of one API server."""

    def __init__(self, port: int, pki: Path) -> None:
        self._admin = Admin(Server(f"https://127.0.0.1:{port}", pki), SECONDS)

    def create(self, manifest: Manifest) -> Manifest:
        """Create an object, with its status where the manifest has one; gives it as the server has it."""
        kind = KINDS[manifest["kind"]]
        path = kind.collection(manifest["metadata"].get("namespace"))
        created = self._object("POST", path, manifest, f"create {manifest['kind']} {key_of(manifest)}")
        if not kind.own_status or "status" not in manifest:
            return created
        return self.update_status(created | {"status": created.get("status", {}) | manifest["status"]})

    def update(self, manifest: Manifest) -> Manifest:
        """Replace an object."""
        path = KINDS[manifest["kind"]].path(manifest)
        return self._object("PUT", path, manifest, f"update {manifest['kind']} {key_of(manifest)}")

    def update_status(self, manifest: Manifest) -> Manifest:
        """Replace the status of an object."""
        path = f"{KINDS[manifest['kind']].path(manifest)}/status"
        return self._object("PUT", path, manifest, f"update the status of {manifest['kind']} {key_of(manifest)}")

    def annotate(self, kind: str, manifest: Manifest, key: str, value: str) -> Manifest:
        """Set one annotation."""
        patch = {"metadata": {"annotations": {key: value}}}
        return self._object("PATCH", KINDS[kind].path(manifest), patch, f"annotate {kind} {key_of(manifest)}", kind)

    def patch_status(self, manifest: Manifest, changes: Manifest) -> Manifest:
        """Change some fields of the status of an object; gives all of it."""
        kind = manifest["kind"]
        path = f"{KINDS[kind].path(manifest)}/status"
        return self._object("PATCH", path, {"status": changes}, f"change the status of {key_of(manifest)}", kind)

    def release(self, manifest: Manifest) -> None:
        """Take the finalizers away, so that a terminating object can go; one that is gone is no error."""
        path = KINDS[manifest["kind"]].path(manifest)
        try:
            self._admin.patch(path, {"metadata": {"finalizers": None}})
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise

    def get(self, kind: str, manifest: Manifest) -> Manifest:
        """One object as the server has it now."""
        return self._object("GET", KINDS[kind].path(manifest), None, f"read {kind} {key_of(manifest)}", kind)

    def list(self, kind: str) -> list[Manifest]:
        """All objects of a kind, oldest first."""
        listing = self._admin.get(KINDS[kind].root)
        found = [self._named(item, kind) for item in listing["items"]]
        return sorted(found, key=lambda one: int(one["metadata"]["resourceVersion"]))

    def delete(self, manifest: Manifest) -> None:
        """Delete an object at once; one that is gone is no error."""
        self._admin.delete(KINDS[manifest["kind"]].path(manifest), **AT_ONCE)

    def terminate(self, manifest: Manifest) -> Manifest:
        """Delete an object with all the grace that it asks for; gives it as it lingers."""
        path = KINDS[manifest["kind"]].path(manifest)
        return self._object("DELETE", path, None, f"terminate {key_of(manifest)}", manifest["kind"])

    def delete_all(self, kind: str, namespace: str | None, except_for: str) -> None:
        """Delete all objects of a kind, in one namespace if it has them, except one name."""
        path = f"{KINDS[kind].collection(namespace)}?fieldSelector=metadata.name!={except_for}"
        self._admin.delete(path, **AT_ONCE)

    def page(self, path: str) -> str:
        """A page of the server, if it has one for us."""
        return self._admin.ask("GET", path).decode()

    def close(self) -> None:
        """Close the connection."""
        self._admin.close()

    def _object(self, method: str, path: str, body: Manifest | None, what: str, kind: str = "") -> Manifest:
        try:
            if method == "PATCH" or body is None:
                answer = self._admin.ask(method, path, body, MERGE_PATCH if body else JSON)
            else:
                # Of JSON a server keeps the spaces in opaque parameters, and then every patch seems to change these.
                answer = self._admin.ask(method, path, json.dumps(body).encode(), YAML)
            return self._named(json.loads(answer), kind or (body or {})["kind"])
        except Refused as refused:
            shown = "" if body is None else f"\n{json.dumps(body)}"
            raise Refused(refused.status, f"cannot {what}: {refused}{shown}") from refused

    def _named(self, item: Manifest, kind: str) -> Manifest:
        # Items of a list do not say what they are.
        return {"apiVersion": KINDS[kind].group_version, "kind": kind} | item
