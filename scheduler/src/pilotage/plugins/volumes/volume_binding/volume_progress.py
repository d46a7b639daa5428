"""The progress of a pod's volumes after the writes, as seen by the watches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from pilotage.cluster.watch.known_objects import key_of, version_number
from pilotage.kinds.csi_migration import Untranslatable, migration_of, translated, translated_affinity
from pilotage.kinds.reach import Reach, reach_of_selector, reach_of_volume, reaches
from pilotage.kinds.storage import SELECTED_NODE, CSINode, PersistentVolume, PersistentVolumeClaim
from pilotage.model.pod import Pod

Found = TypeVar("Found", PersistentVolume, PersistentVolumeClaim, CSINode)
Thing = TypeVar("Thing", PersistentVolume, PersistentVolumeClaim)
Labels = Mapping[str, str]


class Objects(Protocol):
    """Objects as last seen."""

    def get(self, kind: type[Found], name: str, namespace: str = "") -> Found | None:
        """Return one object, or None."""


class Labelled(Protocol):
    """A node's labels."""

    @property
    def labels(self) -> Labels:
        """Return its labels."""


@dataclass(frozen=True)
class ClusterView:
    """The cluster as seen by the watches."""

    objects: Objects
    find_node: Callable[[str], Labelled | None]
    find_pod: Callable[[str], Pod | None]  # by namespace/name


@dataclass(frozen=True, slots=True)
class Written(Generic[Thing]):
    """An object as written, and its version from that write."""

    wanted: Thing
    version: str

    def is_seen(self, stored: Thing) -> bool:
        """Return whether the watch has reached our own write."""
        return version_number(stored.metadata.resource_version) >= version_number(self.version)


class Progress(Enum):
    """The progress, if nothing has failed."""

    WAITING = "not all claims have their volumes yet"
    DONE = "every claim has its volume"


@dataclass(frozen=True, slots=True)
class Failed:
    """Waiting longer cannot help; the message is kube-scheduler's."""

    message: str


Seen = Progress | Failed


class VolumeProgress:
    """The volumes being bound for a pod on its node, and the claims being provisioned."""

    def __init__(self, view: ClusterView, pod: Pod, node: str) -> None:
        self._view = view
        self._pod = pod
        self._node = node
        self.volumes: list[Written[PersistentVolume]] = []
        self.claims: list[Written[PersistentVolumeClaim]] = []

    def look(self) -> Seen:
        """Return the overall progress: that of the first unfinished part."""
        node = self._view.find_node(self._node)
        if node is None:
            return Failed(f'failed to get node "{self._node}": node "{self._node}" not found')
        pod = self._view.find_pod(self._pod.key)
        if pod is None or pod.uid != self._pod.uid:
            return Failed(f'pod does not exist any more: pod "{self._pod.name}" not found')
        for volume in self.volumes:
            if (seen := self._taken(volume, node.labels)) is not Progress.DONE:
                return seen
        for claim in self.claims:
            if (seen := self._made(claim, node.labels)) is not Progress.DONE:
                return seen
        return Progress.DONE

    def _taken(self, volume: Written[PersistentVolume], labels: Labels) -> Seen:
        """Check a volume that is being bound."""
        reference = volume.wanted.spec.claim_ref
        assert reference is not None
        name = volume.wanted.metadata.name
        stored = self._same(volume.wanted)
        if stored is None:
            return Failed(f'failed to check binding: persistentvolumes "{name}" not found')
        claim = self._view.objects.get(PersistentVolumeClaim, reference.name, reference.namespace)
        if claim is None or claim.metadata.uid != reference.uid:
            key = f"{reference.namespace}/{reference.name}"
            return Failed(f'failed to check binding: persistentvolumeclaims "{key}" not found')
        if not volume.is_seen(stored):
            return Progress.WAITING
        if complaint := self._complaint(stored, labels, "failed to translate pv to csi: "):
            return Failed(complaint)
        if stored.spec.claim_ref is None or not stored.spec.claim_ref.uid:
            return Failed(f'ClaimRef got reset for pv "{name}"')
        if claim.is_bound and claim.spec.volume_name != name:
            # kube-scheduler considers this done, and the pod may end up on a node without access to its volume.
            return Failed(f'PVC "{reference.name}" was bound to pv "{claim.spec.volume_name}" instead of "{name}"')
        return Progress.DONE if claim.is_bound else Progress.WAITING

    def _made(self, claim: Written[PersistentVolumeClaim], labels: Labels) -> Seen:
        """Check a claim for which a volume is being provisioned."""
        stored = self._same(claim.wanted)
        if stored is None:
            key = key_of(claim.wanted.metadata)
            return Failed(f'failed to check provisioning pvc: persistentvolumeclaims "{key}" not found')
        if not claim.is_seen(stored):
            return Progress.WAITING
        if not stored.metadata.annotations:
            return Failed(f'selectedNode annotation reset for PVC "{stored.metadata.name}"')
        if stored.metadata.annotations.get(SELECTED_NODE, "") != self._node:
            # A provisioner rejects a node by removing the annotation.
            return Failed(f'provisioning failed for PVC "{stored.metadata.name}"')
        if stored.spec.volume_name:
            volume = self._view.objects.get(PersistentVolume, stored.spec.volume_name)
            if volume is None:
                return Progress.WAITING  # the watch of volumes may lag behind that of claims
            if complaint := self._complaint(volume, labels):
                return Failed(complaint)
        return Progress.DONE if stored.is_bound else Progress.WAITING

    def _same(self, wanted: Thing) -> Thing | None:
        """Return the current object, not a successor of the same name."""
        stored = self._view.objects.get(type(wanted), wanted.metadata.name, wanted.metadata.namespace)
        return stored if stored is not None and stored.metadata.uid == wanted.metadata.uid else None

    def _complaint(self, volume: PersistentVolume, labels: Labels, translating: str = "") -> str:
        """Return why a volume is not accessible from the node, or ""."""
        try:
            within = reaches(self._reach(volume), labels)
        except Untranslatable as error:
            return f"{translating}could not translate pv: {error}"
        if within:
            return ""
        return (
            f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{self._node}": '
            "no matching NodeSelectorTerms"
        )

    def _reach(self, volume: PersistentVolume) -> Reach:
        migration = migration_of(volume)
        csi_node = self._view.objects.get(CSINode, self._node) if migration is not None else None
        if migration is None or csi_node is None or migration.plugin not in csi_node.migrated_plugins:
            return reach_of_volume(volume)
        translated(volume)
        return reach_of_selector(translated_affinity(volume, migration))
