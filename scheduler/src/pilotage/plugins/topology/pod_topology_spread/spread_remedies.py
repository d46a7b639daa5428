"""Weaker spread constraints for a pod: a larger skew, or only a preference."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from pilotage.framework.api.nodes import ABSENT, Nodes
from pilotage.framework.api.pod_changes import plain, with_spec
from pilotage.framework.api.remedies import Change, Remedy
from pilotage.framework.api.spreading import HARD, SOFT
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import SpreadConstraint
from pilotage.plugins.topology.pod_topology_spread.spread_counts import HardCounts

LARGE = 2.0  # the size of a change that gives up a constraint


def spread_remedies(pod: Pod, counts: HardCounts, nodes: Nodes) -> Iterator[Remedy]:
    """Yield a weaker form of each constraint that alone excludes some nodes."""
    hard = [place for place, each in enumerate(pod.spec.topology_spread_constraints) if each.when_unsatisfiable == HARD]
    if len(hard) != len(counts.spreads):
        return  # these are the profile's default constraints, not the pod's
    skews = [counts.skews(place, nodes) for place in range(len(hard))]
    absent = [nodes.at(domains.ids) == ABSENT for domains in counts.layout.domains]
    broken = [absent[place] | (skews[place] > spread.max_skew) for place, spread in enumerate(counts.spreads)]
    number = sum((each.astype(np.int64) for each in broken), np.zeros(len(nodes), np.int64))
    for place, index in enumerate(hard):
        alone = broken[place] & (number == 1)
        uneven = alone & ~absent[place]
        if uneven.any():
            yield _wider(pod, index, int(skews[place][uneven].min()))
        if alone.any():
            yield _softer(pod, index)


def _wider(pod: Pod, index: int, skew: int) -> Remedy:
    constraint = pod.spec.topology_spread_constraints[index]
    return _changed(
        pod,
        index,
        msgspec.structs.replace(constraint, max_skew=skew),
        Change(f"spec.topologySpreadConstraints[{index}].maxSkew", constraint.max_skew, skew),
        code="raiseMaxSkew",
        words="set maxSkew {to} instead of {from} for {key}",
        size=(skew - constraint.max_skew) / max(1, constraint.max_skew),
    )


def _softer(pod: Pod, index: int) -> Remedy:
    return _changed(
        pod,
        index,
        msgspec.structs.replace(pod.spec.topology_spread_constraints[index], when_unsatisfiable=SOFT),
        Change(f"spec.topologySpreadConstraints[{index}].whenUnsatisfiable", HARD, SOFT),
        code="softenSpread",
        words="set whenUnsatisfiable {to} instead of {from} for {key}",
        size=LARGE,
    )


def _changed(pod: Pod, index: int, changed: SpreadConstraint, change: Change, **said: Any) -> Remedy:
    before = pod.spec.topology_spread_constraints
    after = (*before[:index], changed, *before[index + 1 :])
    made = with_spec(pod, {"topologySpreadConstraints": _patch(after, index)}, topology_spread_constraints=after)
    return Remedy(
        actor="owner",
        values={"key": changed.topology_key, "from": str(change.from_), "to": str(change.to)},
        changes=(change,),
        target=made.target,
        patch=made.patch,
        difference=made.difference,
        **said,
    )


def _patch(constraints: tuple[SpreadConstraint, ...], index: int) -> list[Any]:
    """Return a strategic merge patch of the list, whose items are identified by their keys."""
    changed = constraints[index]
    if sum(each.topology_key == changed.topology_key for each in constraints) > 1:
        return [{"$patch": "replace"}, *map(plain, constraints)]
    told = {"maxSkew": changed.max_skew, "whenUnsatisfiable": changed.when_unsatisfiable}
    return [{"topologyKey": changed.topology_key, **told}]
