"""How we know that the scheduler has seen a change: after it we touch an object of the same kind that means nothing,
and wait until the scheduler has seen the touch. It hears of one kind in the order in which things happened."""

import re
import time
from collections.abc import Iterable
from itertools import count

from oracle.client import Client
from oracle.kinds import KINDS
from oracle.scenario import Manifest, key_of
from oracle.scheduler_log import NoAnswer, SchedulerLog

NAME = "sentinel"
NODE = "no-such-node"
SEEN = re.compile(r'informer_store_resource_version\{group="([^"]*)",.*?resource="([^"]*)",.*?\} (\S+)')
SECONDS = 20

_LABELS = {"sentinel": "true"}
_POD: Manifest = {"containers": [{"name": "main", "image": "none"}]}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": _POD}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}, "storageClassName": NAME}
_MEANINGLESS: dict[str, Manifest] = {
    "Service": {"spec": {"ports": [{"port": 1}]}},
    "ReplicationController": {"spec": {"replicas": 0, "selector": _LABELS, "template": _TEMPLATE}},
    "ReplicaSet": {"spec": {"replicas": 0, "selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}},
    "StatefulSet": {"spec": {"replicas": 0, "selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}},
    "PodDisruptionBudget": {"spec": {"maxUnavailable": 1}},
    "StorageClass": {"provisioner": NAME},
    "CSIDriver": {"spec": {}},
    "CSINode": {"spec": {"drivers": []}},
    "CSIStorageCapacity": {"storageClassName": NAME},
    "PersistentVolume": {
        "spec": {
            "capacity": {"storage": "1"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/none"},
            "storageClassName": NAME,
        }
    },
    "PersistentVolumeClaim": {"spec": _CLAIM},
    "VolumeAttachment": {"spec": {"attacher": NAME, "nodeName": NODE, "source": {"persistentVolumeName": NAME}}},
    "DeviceClass": {"spec": {}},
    "DeviceTaintRule": {"spec": {"deviceSelector": {"driver": NAME}, "taint": {"key": NAME, "effect": "None"}}},
    "ResourceSlice": {
        "spec": {"driver": NAME, "nodeName": NODE, "pool": {"name": NAME, "generation": 1, "resourceSliceCount": 1}}
    },
    "ResourceClaim": {"spec": {}},
    # On a node that does not exist, so it takes no room; assigned, so the scheduler does not want to place it.
    "Pod": {"spec": {"nodeName": NODE, **_POD}},
}


class Sentinels:
    """One meaningless object of every kind, in a namespace of their own."""

    def __init__(self, api: Client, metrics: Client, log: SchedulerLog) -> None:
        self._api = api
        self._metrics = metrics
        self._log = log
        self._numbers = count()
        self._objects = {kind: _manifest(kind) for kind in _MEANINGLESS}

    def create(self) -> None:
        """Put them in place."""
        self._api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
        for manifest in self._objects.values():
            self._api.create(manifest)

    def wait_for_pods(self) -> None:
        """Return when every change of pods up to now has been handled."""
        self._touch("Pod")
        key = key_of(self._objects["Pod"])
        self._log.wait_until(
            lambda entry: entry.message == "Update event for scheduled pod" and entry.facts["pod"] == key,
            "that it saw the sentinel pod",
        )

    def wait_for(self, kinds: Iterable[str]) -> None:
        """Return when every change of these kinds up to now is known; for pods, and nodes, there are better ways."""
        wanted = {kind: self._touch(kind) for kind in kinds}
        deadline = time.monotonic() + SECONDS
        while wanted and (late := self._unseen(wanted)):
            if time.monotonic() > deadline:
                raise NoAnswer(f"kube-scheduler did not see changes of {', '.join(late)} within {SECONDS} s")
            time.sleep(0.002)

    def _touch(self, kind: str) -> int:
        touched = self._api.annotate(kind, self._objects[kind], "touched", str(next(self._numbers)))
        return int(touched["metadata"]["resourceVersion"])

    def _unseen(self, wanted: dict[str, int]) -> list[str]:
        found = SEEN.findall(self._metrics.page("/metrics"))
        seen = {(group, resource): int(float(version)) for group, resource, version in found}
        # What no plugin looks at is not watched, and then nothing depends on it.
        return [
            kind
            for kind, version in wanted.items()
            if seen.get((KINDS[kind].group, KINDS[kind].resource), version) < version
        ]


def _manifest(kind: str) -> Manifest:
    metadata = {"name": NAME} | ({"namespace": NAME} if KINDS[kind].namespaced else {})
    return {"apiVersion": KINDS[kind].group_version, "kind": kind, "metadata": metadata, **_MEANINGLESS[kind]}
