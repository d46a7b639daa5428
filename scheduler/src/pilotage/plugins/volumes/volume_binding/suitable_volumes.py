"""The possible volumes of a pod's claims; equal claims are evaluated together."""

from collections.abc import Hashable
from functools import cached_property

from pilotage.framework.api.objects import Objects
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.reach import Reach
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim
from pilotage.kinds.volume_matching import candidates
from pilotage.model.selectors import InvalidSelector
from pilotage.plugins.volumes.volume_binding.assumed import Assumed
from pilotage.plugins.volumes.volume_binding.ranking import Ranking
from pilotage.plugins.volumes.volume_binding.storage_index import StorageIndex


class SuitableVolumes:
    """The possible volumes of a claim, best first."""

    def __init__(self, volumes: list[PersistentVolume], index: StorageIndex) -> None:
        self.volumes = volumes
        self._index = index

    @cached_property
    def reaches(self) -> list[Reach]:
        """Return the reach of each volume."""
        return self._index.volume_reaches(self.volumes)

    @cached_property
    def ranking(self) -> Ranking:
        """Return the volumes in order."""
        return Ranking(self.reaches)


class VolumeSearch:
    """Finds volumes for the claims of one pod, in the current state.

    A pod may have hundreds of claims, and a class thousands of volumes: evaluating each pair would take seconds.
    """

    def __init__(self, objects: Objects, index: StorageIndex, assumed: Assumed[PersistentVolume]) -> None:
        self._objects, self._index, self._assumed = objects, index, assumed
        self._of_class: dict[str, tuple[list[PersistentVolume], set[tuple[str, str]]]] = {}
        self._found: dict[Hashable, SuitableVolumes] = {}

    def volumes_for(self, claim: PersistentVolumeClaim) -> SuitableVolumes:
        """Return the possible volumes of a claim, without those that other pods are about to bind."""
        volumes, kept_for = self._volumes_of(claim.class_name)
        metadata, spec = claim.metadata, claim.spec
        if spec.selector is not None or (metadata.namespace, metadata.name) in kept_for:
            return self._search(claim, volumes)
        modes, written = frozenset(spec.access_modes), str(claim.requested)
        asked = claim.class_name, written, modes, spec.volume_mode, spec.volume_attributes_class_name
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = self._search(claim, volumes)
        return found

    def _volumes_of(self, class_name: str) -> tuple[list[PersistentVolume], set[tuple[str, str]]]:
        known = self._of_class.get(class_name)
        if known is None:
            found = self._index.volumes(self._objects, class_name)
            current = list(map(self._assumed.current, found)) if self._assumed else found
            references = (volume.spec.claim_ref for volume in current)
            kept_for = {(each.namespace, each.name) for each in references if each is not None}
            known = self._of_class[class_name] = current, kept_for
        return known

    def _search(self, claim: PersistentVolumeClaim, volumes: list[PersistentVolume]) -> SuitableVolumes:
        try:
            return SuitableVolumes(candidates(claim, volumes), self._index)
        except InvalidSelector as error:
            key = f"{claim.metadata.namespace}/{claim.metadata.name}"
            raise PluginFailed(f"error creating internal label selector for claim: {key}: {error}") from None
