"""The results of pods, as text and as data."""

from collections.abc import Iterator, Sequence
from typing import Any

from pilotage.cli.tables import table
from pilotage.kinds.devices import AllocatedDevice, ResourceClaim
from pilotage.offline.results import Result
from pilotage.scheduling.explanation import PluginScore


def as_data(result: Result) -> dict[str, Any]:
    """Return one pod as data; docs/simulate.md describes it."""
    return {
        "namespace": result.namespace,
        "name": result.name,
        "schedulerName": result.scheduler_name,
        "node": result.node,
        "message": result.message,
        "reason": result.reason,
        "nominatedNode": result.nominated_node,
        "victims": list(result.victims),
        "scores": {plugin: score_data(score) for plugin, score in result.scores.items()},
        "allocations": [allocation_data(claim, device) for claim, device in _devices(result)],
    }


def allocation_data(claim: ResourceClaim, device: AllocatedDevice) -> dict[str, Any]:
    """Return a device that a claim got."""
    return {
        "claim": claim.metadata.name,
        "request": device.request,
        "driver": device.driver,
        "pool": device.pool,
        "device": device.device,
        "share": device.share_id,
    }


def score_data(score: PluginScore) -> dict[str, int]:
    """Return a plugin's score of one node."""
    return {"raw": score.raw, "normalized": score.normalized, "weight": score.weight, "weighted": score.weighted}


def _devices(result: Result) -> Iterator[tuple[ResourceClaim, AllocatedDevice]]:
    for claim in result.claims:
        for device in () if claim.status.allocation is None else claim.status.allocation.devices.results:
            yield claim, device


def as_table(results: Sequence[Result]) -> str:
    """Return one line for each pod, without empty columns."""
    columns = {
        "NAMESPACE": [result.namespace for result in results],
        "NAME": [result.name for result in results],
        "NODE": [result.node or "-" for result in results],
        "DEVICES": [",".join(f"{device.pool}/{device.device}" for _, device in _devices(result)) for result in results],
        "VICTIMS": [",".join(result.victims) for result in results],
        "MESSAGE": [result.message for result in results],
    }
    kept = {title: cells for title, cells in columns.items() if any(cells)}
    return table(list(kept), list(zip(*kept.values(), strict=True)))


def summary(results: Sequence[Result]) -> str:
    """Return how many pods there are, and how many of them have a node."""
    placed = sum(result.node is not None for result in results)
    waiting = len(results) - placed
    pods = "1 pod" if len(results) == 1 else f"{len(results)} pods"
    return f"{pods}: {placed} placed" + (f", {waiting} waiting" if waiting else "")
