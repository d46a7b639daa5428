"""What ours would write to the claims of a placed pod."""

import json

import msgspec

from oracle.claims import written
from oracle.scenario import Manifest
from pilotage.framework.api.objects import Objects
from pilotage.kinds.devices import ResourceClaim
from pilotage.plugins.devices.dynamic_resources.claim_bodies import finalizer_patch
from pilotage.plugins.devices.dynamic_resources.dynamic_resources import DynamicResources
from pilotage.scheduling.engine import Engine


def claims_written(objects: Objects, engine: Engine, pod: Manifest) -> dict[str, Manifest]:
    """Return the claims of a pod that has a node, as they are once it is bound."""
    plugin = next((one for one in engine.runner.plugin_set.reserve if isinstance(one, DynamicResources)), None)
    claims = objects.all(ResourceClaim)
    if plugin is None or not claims:
        return {}
    return written(pod, [_as_written(plugin, one) for one in claims])


def _as_written(plugin: DynamicResources, claim: ResourceClaim) -> Manifest:
    decided = plugin.as_reserved(claim)
    assert isinstance(decided, ResourceClaim)
    manifest = _manifest(decided)
    if decided.status.allocation is not None and claim.status.allocation is None:
        manifest["metadata"] |= finalizer_patch(claim)["metadata"]
    return manifest


def _manifest(found: object) -> Manifest:
    made: Manifest = json.loads(msgspec.json.encode(found))
    return made
