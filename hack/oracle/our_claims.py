"""What ours would write to the claims of a placed pod."""

import json

import msgspec

from oracle.claims import MADE, made, state, written
from oracle.scenario import Manifest
from pilotage.framework.api.objects import Objects
from pilotage.kinds.devices import ResourceClaim
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.claim_bodies import (
    as_allocated,
    consumer,
    finalizer_patch,
    is_reserved_for,
)
from pilotage.plugins.devices.dynamic_resources.device_cycle import DeviceCycle
from pilotage.plugins.devices.dynamic_resources.dynamic_resources import DynamicResources
from pilotage.plugins.devices.dynamic_resources.extended_claims import creation_body
from pilotage.scheduling.outcome import Placed


def claims_written(objects: Objects, placed: Placed, pod: Manifest) -> dict[str, Manifest]:
    """Return the claims of a pod that has a node, as they are once it is bound."""
    reserving = placed.engine.runner.plugin_set.reserve
    plugin = next((one for one in reserving if isinstance(one, DynamicResources)), None)
    if plugin is None:
        return {}
    found = written(pod, [_as_written(plugin, one, placed.pod) for one in objects.all(ResourceClaim)])
    return found | _made_for(placed)


def _as_written(plugin: DynamicResources, claim: ResourceClaim, pod: Pod) -> Manifest:
    """Return a claim as it is once the pod is bound, if it is one of the pod's."""
    decided = plugin.as_reserved(claim)
    assert isinstance(decided, ResourceClaim)
    manifest = _manifest(decided)
    if not is_reserved_for(decided, pod):
        manifest["status"].setdefault("reservedFor", []).append({"uid": pod.uid})
    if decided.status.allocation is not None and claim.status.allocation is None:
        manifest["metadata"] |= finalizer_patch(claim)["metadata"]
    return manifest


def _made_for(placed: Placed) -> dict[str, Manifest]:
    """Return the claim that is made for a pod whose extended resources are devices."""
    cycle = placed.cycle.notes.get(DynamicResources.name)
    special = cycle.special if isinstance(cycle, DeviceCycle) else None
    if special is None:
        return {}
    assert isinstance(cycle, DeviceCycle)
    allocation = next(allocation for claim, allocation in cycle.chosen if claim is special)
    manifest = _manifest(as_allocated(special, allocation, [consumer(placed.pod)]))
    manifest["metadata"] |= finalizer_patch(special)["metadata"]
    mappings = [
        {"containerName": one.container, "resourceName": one.resource, "requestName": one.request}
        for one in cycle.mappings
    ]
    return {MADE: state(manifest) | made(creation_body(placed.pod, special)) | {"mappings": mappings}}


def _manifest(found: object) -> Manifest:
    content: Manifest = json.loads(msgspec.json.encode(found))
    return content
