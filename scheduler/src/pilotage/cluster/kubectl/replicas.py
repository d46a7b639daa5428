"""The replicas of schedulers in a cluster, and the leader of each release."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pilotage.cluster.kubectl.names import FINGERPRINT, HASH, LEADS, TROUBLE

Manifest = Mapping[str, Any]

SELECTOR = "app.kubernetes.io/part-of=pilotage,app.kubernetes.io/component=scheduler"
INSTANCE = "app.kubernetes.io/instance"
USUAL_NAMESPACE = "pilotage"


@dataclass(frozen=True)
class Replica:
    """A pod of a scheduler, and the state that it reports."""

    namespace: str
    name: str
    release: str
    ready: bool
    leads: bool
    hash: str
    trouble: str
    fingerprint: str

    @property
    def instance(self) -> str:
        """Return the release as in profiles."""
        return f"{self.namespace}/{self.release}"


def replicas(pods: Iterable[Manifest], leases: Iterable[Manifest] = ()) -> list[Replica]:
    """Return the replicas of all releases; a label marks the leader, or the Lease names it."""
    holders = {(_place(lease), _holder(lease)) for lease in leases}
    return [_replica(pod, holders) for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def leader(found: Sequence[Replica]) -> Replica | None:
    """Return the replica to ask: the leader, else one that is ready."""
    return next((each for each in found if each.leads), next((each for each in found if each.ready), None))


def _replica(pod: Manifest, holders: set[tuple[str, str]]) -> Replica:
    metadata = pod["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    namespace, name = metadata["namespace"], metadata["name"]
    return Replica(
        namespace=namespace,
        name=name,
        release=labels.get(INSTANCE, ""),
        ready=condition(pod, "Ready").get("status") == "True",
        leads=labels.get(LEADS) == "true" or (namespace, name) in holders,
        hash=annotations.get(HASH, ""),
        trouble=_trouble(annotations.get(TROUBLE, "")),
        fingerprint=annotations.get(FINGERPRINT, ""),
    )


def condition(manifest: Manifest, kind: str) -> Mapping[str, Any]:
    """Return one condition of an object; empty if it has none of this type."""
    conditions = (manifest.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), {})


def _place(lease: Manifest) -> str:
    return str(lease["metadata"].get("namespace", ""))


def _holder(lease: Manifest) -> str:
    """Return the pod of an identity of the form POD_UUID."""
    return str((lease.get("spec") or {}).get("holderIdentity") or "").partition("_")[0]


def _trouble(text: str) -> str:
    """Return in words why a replica rejects a configuration."""
    try:
        found = json.loads(text)
        return f"{found['kind']}: {found.get('message', '')}"
    except (ValueError, KeyError, TypeError):
        return text[:200]
