"""Pods that say how many watts they draw go to racks that have as many left, by a custom resource RackPower."""

from msgspec import Struct

from pilotage.plugin import (
    NODE_ADDED,
    NODE_LABELS_CHANGED,
    SKIP,
    STATIC,
    Action,
    Caching,
    Filter,
    KubeObject,
    Permission,
    PluginFailed,
    PreBind,
    PreFilter,
    PreScore,
    Rejection,
    Retry,
    Score,
    by_maximum,
)

WATTS = "power.example.com/watts"  # an annotation of pods: what they draw
RACK = "power.example.com/rack"  # a label of nodes: the name of a RackPower
LAST_POD = "power.example.com/last-pod"  # an annotation of a RackPower: who was sent to the rack last

NO_RACK = Rejection("node(s) were in no rack with known power", preemption_helps=False)
NOT_ENOUGH = Rejection("node(s) were in a rack without enough power", preemption_helps=False)
MALFORMED = Rejection("node(s) were in a rack whose RackPower cannot be decoded", preemption_helps=False)


class RackPowerSpec(Struct):
    """What is read of it; other fields are skipped."""

    watts: int
    used: int = 0


class RackPower(KubeObject, group="power.example.com", version="v1", plural="rackpowers", scope="Cluster"):
    """How much power the rack of this name can deliver, and how much of it is used."""

    spec: RackPowerSpec

    @property
    def left(self):
        return self.spec.watts - self.spec.used


class RackPowerFit(PreFilter, Filter, PreScore, Score, PreBind):
    """Keep pods out of racks without enough power for them, and prefer the rack with the most left."""

    caching = Caching(STATIC)  # answers depend on the node, and on the objects that it reads
    reads = (RackPower,)
    retry_on = (NODE_ADDED, NODE_LABELS_CHANGED, Retry(RackPower, Action.ADD | Action.UPDATE, "is_enough"))
    permissions = (Permission("power.example.com", "rackpowers", ("patch",)),)

    def start(self, handle):
        self.handle = handle

    def pre_filter(self, cycle, pod):
        return None if WATTS in pod.annotations else SKIP

    def filter(self, cycle, pod, node):
        rack = node.labels.get(RACK, "")
        if rack in cycle.objects.troubles(RackPower):
            return MALFORMED
        power = cycle.objects.get(RackPower, rack)
        if power is None:
            return NO_RACK
        return None if power.left >= watts_of(pod) else NOT_ENOUGH

    def pre_score(self, cycle, pod, nodes):
        return None if WATTS in pod.annotations else SKIP

    def score(self, cycle, pod, node):
        return cycle.objects.get(RackPower, node.labels[RACK]).left

    normalize = by_maximum

    def remark(self, cycle, pod, node):
        power = cycle.objects.get(RackPower, node.labels.get(RACK, ""))
        return f"wants {watts_of(pod)} W, the rack has {power.left} W left" if power else ""

    def pre_bind_pre_flight(self, cycle, pod, node):
        return None if WATTS in pod.annotations else SKIP

    async def pre_bind(self, cycle, pod, node):
        path = RackPower.api.path(name=self.handle.find_node(node).labels[RACK])
        note = {"metadata": {"annotations": {LAST_POD: pod.key}}}
        await self.handle.api.patch(path, note, pod=pod, node=node)

    def is_enough(self, pod, event, old, new):
        return new.left >= watts_of(pod)


def watts_of(pod):
    text = pod.annotations[WATTS]
    if not text.isdecimal():
        raise PluginFailed(f"the annotation {WATTS} must be a whole number, not {text!r:.40}")
    return int(text)
