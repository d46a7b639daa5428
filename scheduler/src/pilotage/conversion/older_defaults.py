"""The default plugins of v1beta1 and v1beta2 by extension point, with the names of v1.

v1beta3 and v1 enable the same plugins with multiPoint, so their defaults need no table.
"""

from collections.abc import Mapping

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.types import Plugin
from pilotage.conversion.older_types import Version

_FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
)
_PRE_FILTERS = (
    "NodeResourcesFit",
    "NodePorts",
    "PodTopologySpread",
    "InterPodAffinity",
    "VolumeBinding",
    "NodeAffinity",
)
# The weights before v1beta3, when taints, affinity and spreading counted less.
_SCORES = {
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "InterPodAffinity": 1,
    "NodeResourcesFit": 1,
    "NodeAffinity": 1,
    "PodTopologySpread": 2,
    "TaintToleration": 1,
}
_POINTS: dict[ExtensionPoint, tuple[str, ...]] = {
    ExtensionPoint.QUEUE_SORT: ("PrioritySort",),
    ExtensionPoint.PRE_FILTER: _PRE_FILTERS,
    ExtensionPoint.FILTER: _FILTERS,
    ExtensionPoint.POST_FILTER: ("DefaultPreemption",),
    ExtensionPoint.PRE_SCORE: ("InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity"),
    ExtensionPoint.RESERVE: ("VolumeBinding",),
    ExtensionPoint.PRE_BIND: ("VolumeBinding",),
    ExtensionPoint.BIND: ("DefaultBinder",),
}


def default_plugins(version: Version) -> Mapping[ExtensionPoint, tuple[Plugin, ...]]:
    """Return the default plugins by point; in v1beta1 NodeResourcesLeastAllocated comes after NodeResourcesFit."""
    assert not version.has_multi_point
    points = {point: tuple(Plugin(name=name) for name in names) for point, names in _POINTS.items()}
    scores = tuple(Plugin(name=name, weight=weight) for name, weight in _SCORES.items())
    return {**points, ExtensionPoint.SCORE: scores}
