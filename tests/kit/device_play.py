"""Devices on fake nodes of a live cluster, pods with claims for them, and what may never happen to either."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from kit.admin import CONNECTIONS, Admin
from kit.control_plane import ControlPlane
from pilotage.testing import node_manifest, pod_manifest
from pilotage.testing.manifests import Manifest

ROOT = "/apis/resource.k8s.io/v1"
VERSION = "resource.k8s.io/v1"
PROTECTION = "resource.kubernetes.io/delete-protection"
PATIENCE = 240.0  # seconds; how fast it is, is measured elsewhere


class DevicePlay:
    """A driver of the test's own with a pool on each node, and pods of a scheduler that has the namespace's name."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.control_plane, self.namespace = control_plane, namespace
        self.driver = f"{namespace}.example.com"
        self.admin = Admin(control_plane.cluster)
        self.claims = f"{ROOT}/namespaces/{namespace}/resourceclaims"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"

    def configuration(self, folder: Path, **arguments: str) -> str:
        """Write the configuration of the scheduler; returns the flag that names it."""
        plugin = {"name": "DynamicResources", "args": {"kind": "DynamicResourcesArgs", **arguments}}
        profile = {"schedulerName": self.namespace, "pluginConfig": [plugin] if arguments else []}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"qps": 5000, "burst": 5000},
            "profiles": [profile],
        }
        (folder / "devices.yaml").write_text(yaml.safe_dump(config))
        return f"--config={folder / 'devices.yaml'}"

    def nodes(self, count: int) -> list[Manifest]:
        """Return so many nodes with room for many pods."""
        return [node_manifest(f"{self.namespace}-{number}", cpu="64", memory="256Gi") for number in range(count)]

    def publish(self, nodes: Iterable[str], devices: int, **fields: Any) -> None:
        """Make a class for the driver, and give each node so many devices."""
        selector = {"cel": {"expression": f'device.driver == "{self.driver}"'}}
        metadata = {"name": self.namespace, "labels": {"test": self.namespace}}
        self.admin.post(
            f"{ROOT}/deviceclasses",
            {"apiVersion": VERSION, "kind": "DeviceClass", "metadata": metadata, "spec": {"selectors": [selector]}},
        )
        self._post_all(f"{ROOT}/resourceslices", [self.slice_of(node, devices, **fields) for node in nodes])

    def slice_of(self, node: str, devices: int, **fields: Any) -> Manifest:
        """Return the slice of a node."""
        each = [{"name": f"d{number}", **fields} for number in range(devices)]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        metadata = {"name": node, "labels": {"test": self.namespace}}
        spec = {"driver": self.driver, "nodeName": node, "pool": pool, "devices": each}
        return {"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}

    def spec(self, count: int = 1, **fields: Any) -> Manifest:
        """Return the spec of a claim for so many devices."""
        exactly = {"deviceClassName": self.namespace, "allocationMode": "ExactCount", "count": count}
        return {"devices": {"requests": [{"name": "r", "exactly": exactly}], **fields}}

    def create_template(self, name: str = "template", count: int = 1) -> None:
        """Create the template of a claim."""
        path = f"{ROOT}/namespaces/{self.namespace}/resourceclaimtemplates"
        head = {"apiVersion": VERSION, "kind": "ResourceClaimTemplate", "metadata": {"name": name}}
        self.admin.post(path, {**head, "spec": {"spec": self.spec(count)}})

    def create_claim(self, name: str, count: int = 1, **fields: Any) -> Any:
        """Create a claim."""
        head = {"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": {"name": name}}
        return self.admin.post(self.claims, {**head, "spec": self.spec(count, **fields)})

    def report(self, claim: str, condition: str) -> None:
        """Let the driver say something of the first device of a claim."""
        result = self.claim(claim)["status"]["allocation"]["devices"]["results"][0]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        told = {
            "type": condition,
            "status": "True",
            "reason": "Told",
            "message": "by a test",
            "lastTransitionTime": now,
        }
        device = {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": [told]}
        self.admin.patch(f"{self.claims}/{claim}/status", {"status": {"devices": [device]}})

    def pod(self, name: str, *, claim: str | None = None, template: str = "template", **fields: Any) -> Manifest:
        """Return a pod with a claim of its own, or a shared one."""
        entry = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
        spec = {"resourceClaims": [{"name": "devices", **entry}]}
        return pod_manifest(name, namespace=self.namespace, scheduler=self.namespace, spec=spec, **fields)

    def create(self, pods: Sequence[Manifest]) -> None:
        """Create pods."""
        self._post_all(self.pods, pods)

    def _post_all(self, path: str, manifests: Sequence[Manifest]) -> None:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for _ in pool.map(lambda each: self.admin.post(path, each), manifests):
                pass

    def all_pods(self) -> list[Manifest]:
        """Return all pods."""
        found: list[Manifest] = self.admin.get(self.pods)["items"]
        return found

    def all_claims(self) -> list[Manifest]:
        """Return all claims."""
        found: list[Manifest] = self.admin.get(self.claims)["items"]
        return found

    def claim(self, name: str) -> Manifest:
        """Return a claim."""
        found: Manifest = self.admin.get(f"{self.claims}/{name}")
        return found

    def bound(self) -> list[Manifest]:
        """Return the pods that have a node."""
        return [each for each in self.all_pods() if each["spec"].get("nodeName")]

    def until(self, what: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        """Wait until something is true, and return it."""
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < deadline, f"{self.why()}\n{self.violations()}"
            time.sleep(0.2)
        return found

    def until_bound(self, count: int) -> None:
        """Wait until so many pods have a node."""
        self.until(lambda: len(self.bound()) >= count)

    def why(self) -> str:
        """Return why pods wait, and how many."""
        found = Counter(message_of(each) for each in self.all_pods() if not each["spec"].get("nodeName"))
        return "\n".join(f"{count} pods: {message}" for message, count in found.most_common(5))

    def violations(self) -> list[str]:
        """Return what must never be."""
        claims = {each["metadata"]["name"]: each for each in self.all_claims()}
        return [*_held_twice(claims.values()), *_unprotected(claims.values()), *_unserved(self.bound(), claims)]

    def free_of(self, claims: Iterable[Manifest]) -> bool:
        """Return whether no claim has devices."""
        return not any(each.get("status", {}).get("allocation") for each in claims)

    def close(self) -> None:
        """Remove what is in no namespace."""
        self.admin.delete(f"{self.pods}?gracePeriodSeconds=0")
        for plural in ("resourceslices", "deviceclasses", "devicetaintrules"):
            self.admin.delete(f"{ROOT}/{plural}?labelSelector=test%3D{self.namespace}")
        self.admin.close()


@contextmanager
def devices_of(control_plane: ControlPlane, namespace: str) -> Iterator[DevicePlay]:
    """Yield a play, and remove it afterwards."""
    with closing(DevicePlay(control_plane, namespace)) as play:
        yield play


def message_of(pod: Manifest) -> str:
    """Return why a pod waits."""
    conditions = pod.get("status", {}).get("conditions", [])
    return next((str(each.get("message")) for each in conditions if each["type"] == "PodScheduled"), "not tried yet")


def devices_in(claim: Manifest) -> list[str]:
    """Return the devices of a claim: pool/device."""
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [f"{each['pool']}/{each['device']}" for each in results]


def _held_twice(claims: Iterable[Manifest]) -> list[str]:
    found = Counter(device for claim in claims for device in devices_in(claim))
    return [f"{count} claims have device {device}" for device, count in found.items() if count > 1]


def _unprotected(claims: Iterable[Manifest]) -> list[str]:
    return [
        f"claim {each['metadata']['name']} has devices and no finalizer"
        for each in claims
        if devices_in(each) and PROTECTION not in each["metadata"].get("finalizers", [])
    ]


def _unserved(pods: Iterable[Manifest], claims: dict[str, Manifest]) -> Iterator[str]:
    for pod in pods:
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        made = {each["name"]: each.get("resourceClaimName") for each in pod["status"].get("resourceClaimStatuses", [])}
        for entry in pod["spec"].get("resourceClaims", []):
            claim = claims.get(entry.get("resourceClaimName") or made.get(entry["name"]) or "")
            if claim is None or not devices_in(claim):
                yield f"pod {name} is bound, and its claim has no devices"
            elif pod["metadata"]["uid"] not in {each["uid"] for each in claim["status"].get("reservedFor", [])}:
                yield f"pod {name} is bound, and its claim is not reserved for it"
            elif any(not device.startswith(f"{node}/") for device in devices_in(claim)):
                yield f"pod {name} is on {node}, and its devices are {devices_in(claim)}"
