"""A fast client of the API server: one kept-open connection, plain manifests."""

import http.client
import json
import ssl
from http import HTTPStatus
from pathlib import Path
from typing import Any

from oracle.kinds import KINDS
from oracle.scenario import Manifest, key_of

AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
SECONDS = 30


class Refused(Exception):
    """The API server did not take a request; for an object of a scenario that is a fault of its generator."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Client:
    """The admin of one API server."""

    def __init__(self, port: int, pki: Path) -> None:
        tls = ssl.create_default_context(cafile=pki / "ca.crt")
        tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=SECONDS)

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
        """Take the finalizers away, so that a terminating object can go."""
        path = KINDS[manifest["kind"]].path(manifest)
        self.request("PATCH", path, {"metadata": {"finalizers": None}})

    def get(self, kind: str, manifest: Manifest) -> Manifest:
        """One object as the server has it now."""
        return self._object("GET", KINDS[kind].path(manifest), None, f"read {kind} {key_of(manifest)}", kind)

    def list(self, kind: str) -> list[Manifest]:
        """All objects of a kind, oldest first."""
        listing = self.request("GET", KINDS[kind].root)
        found = [self._named(item, kind) for item in listing["items"]]
        return sorted(found, key=lambda one: int(one["metadata"]["resourceVersion"]))

    def delete(self, manifest: Manifest) -> None:
        """Delete an object at once; one that is gone is no error."""
        try:
            self.request("DELETE", KINDS[manifest["kind"]].path(manifest), AT_ONCE)
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise

    def terminate(self, manifest: Manifest) -> Manifest:
        """Delete an object with all the grace that it asks for; gives it as it lingers."""
        path = KINDS[manifest["kind"]].path(manifest)
        return self._object("DELETE", path, None, f"terminate {key_of(manifest)}", manifest["kind"])

    def delete_all(self, kind: str, namespace: str | None, except_for: str) -> None:
        """Delete all objects of a kind, in one namespace if it has them, except one name."""
        path = f"{KINDS[kind].collection(namespace)}?fieldSelector=metadata.name!={except_for}"
        self.request("DELETE", path, AT_ONCE)

    def request(self, method: str, path: str, body: Manifest | None = None) -> Any:
        """The decoded answer; Refused unless the server agrees."""
        status, text = self.raw(method, path, body)
        if status >= HTTPStatus.BAD_REQUEST:
            raise Refused(status, text)
        return json.loads(text)

    def raw(self, method: str, path: str, body: Manifest | None = None) -> tuple[int, str]:
        """Status and text of an answer."""
        patch = "application/merge-patch+json" if method == "PATCH" else "application/json"
        content = None if body is None else json.dumps(body)
        try:
            return self._answer(method, path, content, patch)
        except http.client.RemoteDisconnected:
            # The server closes a connection that was idle for long, and has not read what came too late.
            self._connection.close()
            return self._answer(method, path, content, patch)

    def _answer(self, method: str, path: str, content: str | None, kind: str) -> tuple[int, str]:
        self._connection.request(method, path, content, {"Content-Type": kind})
        answer = self._connection.getresponse()
        return answer.status, answer.read().decode()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _object(self, method: str, path: str, body: Manifest | None, what: str, kind: str = "") -> Manifest:
        try:
            return self._named(self.request(method, path, body), kind or (body or {})["kind"])
        except Refused as refused:
            shown = "" if body is None else f"\n{json.dumps(body)}"
            raise Refused(refused.status, f"cannot {what}: {refused}{shown}") from refused

    def _named(self, item: Manifest, kind: str) -> Manifest:
        # Items of a list do not say what they are.
        return {"apiVersion": KINDS[kind].group_version, "kind": kind} | item
