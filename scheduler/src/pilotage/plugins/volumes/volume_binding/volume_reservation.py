"""Reservations of volumes and claims for pods in their binding cycle."""

from dataclasses import dataclass, field

from pilotage.framework.api.objects import Objects
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim
from pilotage.kinds.volume_matching import made_on, taken
from pilotage.plugins.volumes.volume_binding.assumed import Assumed, Assumption
from pilotage.plugins.volumes.volume_binding.volume_choice import NodeVolumes


@dataclass
class Reservation:
    """The reserved volumes, and the claims to provision, on a node."""

    node: str
    volumes: list[Assumption[PersistentVolume]] = field(default_factory=list)
    claims: list[Assumption[PersistentVolumeClaim]] = field(default_factory=list)


class Reservations:
    """The assumed states of all volumes and claims."""

    def __init__(self) -> None:
        self.volumes: Assumed[PersistentVolume] = Assumed()
        self.claims: Assumed[PersistentVolumeClaim] = Assumed()

    def make(self, chosen: NodeVolumes, node: str, objects: Objects) -> Reservation:
        """Reserve the chosen volumes, all or nothing; PluginFailed if that fails."""
        held = Reservation(node)
        try:
            for delayed, volume in chosen.bindings:
                stored = objects.get(PersistentVolume, volume.metadata.name)
                changed = taken(volume, delayed.claim)
                held.volumes.append(self.volumes.assume(stored, changed, PersistentVolume.api.plural))
            for delayed, _ in chosen.provisions:
                metadata = delayed.claim.metadata
                found = objects.get(PersistentVolumeClaim, metadata.name, metadata.namespace)
                changed_claim = made_on(delayed.claim, node)
                held.claims.append(self.claims.assume(found, changed_claim, PersistentVolumeClaim.api.plural))
        except PluginFailed:
            self.release(held)
            raise
        return held

    def release(self, held: Reservation) -> None:
        """Release a reservation; idempotent."""
        while held.volumes:
            self.volumes.release(held.volumes.pop())
        while held.claims:
            self.claims.release(held.claims.pop())
