"""What would give a whole gang its places at once: members, room, or a smaller quorum."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.lower_requests import ask_for_less
from pilotage.framework.api.nodes import Bools, Nodes
from pilotage.framework.api.plugin import STATIC
from pilotage.framework.api.pod_changes import with_spec
from pilotage.framework.api.remedies import Change, PodNames, Remedy
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.storage import CSINode
from pilotage.model.gangs import GangName, gang_of
from pilotage.model.pod import Pod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.remedies.altered import altered
from pilotage.scheduling.remedies.new_nodes import kinds_for, one_more_like
from pilotage.scheduling.remedies.objections import Objections
from pilotage.scheduling.remedies.ranking import ranked
from pilotage.scheduling.remedies.trying import Tries

MOST_MEMBERS = 128  # of a gang that is tried as a whole, in one step
MOST_NODES = 32  # new ones


@dataclass(frozen=True)
class Members:
    """The pods of a gang that is not whole: how many of them need a place at once, and who waits."""

    name: GangName
    plugin: FormsGangs
    needed: int
    waiting: tuple[Pod, ...]  # that may be tried
    gated: tuple[Pod, ...]

    @property
    def lacking(self) -> int:
        """Return how many pods are not even there."""
        return max(0, self.needed - len(self.waiting) - len(self.gated))


def members_of(queue: SchedulingQueue, engine: Engine, pod: Pod, *taken: Pod) -> Members | None:
    """Return the gang of a pod that waits, with members that were just taken from the queue; None without a gang."""
    name, plugin = gang_of(pod), engine.gangs
    needed = plugin.missing(name, pod) if name is not None and plugin is not None else None
    if name is None or plugin is None or needed is None or needed <= 0:
        return None
    siblings = queue.gang(name, pod.scheduler_name)
    waiting = {each.uid: each for each in (pod, *taken, *(each.pod for each in siblings if not each.is_gated))}
    gated = tuple(each.pod for each in siblings if each.is_gated and each.pod.uid not in waiting)
    return Members(name, plugin, needed, tuple(waiting.values()), gated)


def searched_for_gang(tries: Tries, gang: Members) -> Generator[None, None, tuple[tuple[Remedy, ...], str]]:
    """Find the remedies for a gang, and say how short it is; nothing if it is larger than what is tried at once."""
    if gang.needed > MOST_MEMBERS:
        return (), f"the gang needs {gang.needed} places at once, which are too many to try"
    found: list[Remedy] = []
    yield
    fits = _fitting(tries, gang.waiting, gang.needed)
    for offered in _offered(tries, gang, fits):
        yield
        tried = _tried(tries, gang, offered)
        if tried is not None:
            found.append(tried)
    least = min(len(gang.waiting), gang.needed)
    short = f"{least - fits} of {gang.needed} pods find no room at once" if fits < least else ""
    return ranked(found), short


@dataclass(frozen=True)
class _Offer:
    """A remedy, and with it the pods that are to be placed, and how many of them."""

    remedy: Remedy
    pods: tuple[Pod, ...]
    needed: int


def _offered(tries: Tries, gang: Members, fits: int) -> Iterator[_Offer]:
    there = (*gang.waiting, *gang.gated)
    if gang.lacking:
        clones = tuple(_sibling(tries.pod, number) for number in range(gang.lacking))
        yield _Offer(_more_members(gang), (*there, *clones), gang.needed)
    elif len(gang.waiting) < gang.needed:
        yield _Offer(_open_gates(gang), there, gang.needed)
    enough = len(gang.waiting) >= gang.needed
    smaller = gang.plugin.with_fewer(gang.name, tries.pod, gang.needed - fits) if 0 < fits < gang.needed else None
    if smaller is not None:
        yield _Offer(smaller, gang.waiting, fits)
    if enough and fits < gang.needed:
        yield from _less_each(tries, gang)
        yield from _more_nodes(tries, gang, fits)


def _tried(tries: Tries, gang: Members, offer: _Offer) -> Remedy | None:
    with altered(tries.cache, offer.remedy.difference):
        fits = _fitting(tries, offer.pods, offer.needed)
    if fits < offer.needed:
        return None
    return replace(offer.remedy, verified=True, plugin=offer.remedy.plugin or gang.plugin.name)


def _fitting(tries: Tries, pods: Sequence[Pod], needed: int) -> int:
    """Return how many of the pods find a place beside each other, until as many have one as are needed."""
    held: list[str] = []
    cache = tries.cache
    tries.number += 1
    try:
        for pod in sorted(pods, key=lambda each: -each.requests.get("cpu", 0)):
            if len(held) == needed:
                break
            node = _place(tries, pod)
            if node is not None:
                cache.assume(pod.on(node))
                held.append(pod.uid)
    except PluginFailed:
        return 0
    finally:
        for uid in held:
            cache.forget(uid)
    return len(held)


def _place(tries: Tries, pod: Pod) -> str | None:
    attempt = tries.attempt(pod)
    if attempt.run_pre_filter().rejection is not None:
        return None
    feasible = attempt.feasible()
    if not len(feasible):
        return None
    return str(attempt.cycle.nodes[int(attempt.best(feasible)[0])].name)


def _sibling(pod: Pod, number: int) -> Pod:
    sibling = pod.on("")
    sibling.uid, sibling.name = f"{pod.uid}/sibling-{number}", f"{pod.name}-sibling-{number}"
    return sibling


def _more_members(gang: Members) -> Remedy:
    return Remedy(
        code="moreMembers",
        actor="owner",
        words="create {count} more of the {needed} pods that {gang} needs",
        values={"count": gang.lacking, "needed": gang.needed, "gang": str(gang.name)},
        size=gang.lacking / gang.needed,
    )


def _open_gates(gang: Members) -> Remedy:
    gates = sorted({gate.name for pod in gang.gated for gate in pod.spec.scheduling_gates})
    return Remedy(
        code="openGates",
        actor="owner",
        words="remove the scheduling gates of {pods}",
        values={"pods": PodNames(pod.key for pod in gang.gated), "gates": tuple(gates)},
        changes=tuple(Change(f"{pod.key}: spec.schedulingGates", None, None) for pod in gang.gated[:1]),
        size=len(gang.gated) / gang.needed,
    )


def _less_each(tries: Tries, gang: Members) -> Iterator[_Offer]:
    """Yield what all members could ask for, if they ask for the same, so that enough fit."""
    if len({pod.shape for pod in gang.waiting}) > 1:
        return
    attempt = tries.attempt()
    if attempt.run_pre_filter().rejection is not None:
        return
    objections = Objections(attempt)
    open_to = objections.open_to("NodeResourcesFit")
    for resource in tries.pod.requests:
        most = _largest(objections.nodes, open_to, tries.pod, resource, gang.needed)
        remedy = ask_for_less(tries.pod, {resource: most}) if most else None
        if remedy is not None:
            words = f"{remedy.words} in every pod of the gang"
            pods = tuple(_asking_like(remedy.difference.pod, pod) for pod in gang.waiting)
            less = replace(remedy, code="reduceGangRequest", words=words, plugin="NodeResourcesFit")
            yield _Offer(less, pods, gang.needed)


def _asking_like(changed: Pod | None, pod: Pod) -> Pod:
    assert changed is not None
    spec = {name: getattr(changed.spec, name) for name in ("containers", "init_containers", "resources")}
    asking = with_spec(pod, {}, **spec).difference.pod
    assert asking is not None
    return asking


def _largest(nodes: Nodes, open_to: Bools, pod: Pod, resource: str, needed: int) -> int:
    """Return the largest request with which so many pods fit; 0 if none does, or the one that there is."""
    room = np.maximum(nodes.allowed_pods - nodes.pod_count, 0)[open_to]
    for name, amount in pod.requests.items():
        if name != resource and amount > 0:
            room = np.minimum(room, np.maximum(nodes.allocatable(name) - nodes.requested(name), 0)[open_to] // amount)
    free = np.maximum(nodes.allocatable(resource) - nodes.requested(resource), 0)[open_to]
    low, high = 0, pod.requests[resource]
    while high - low > 1:
        middle = (low + high) // 2
        fits = int(np.minimum(room, free // middle).sum())
        low, high = (middle, high) if fits >= needed else (low, middle)
    return low


def _more_nodes(tries: Tries, gang: Members, fits: int) -> Iterator[_Offer]:
    """Yield as many nodes of a kind as the pods would need that find no room."""
    attempt = tries.attempt()
    if attempt.run_pre_filter().rejection is not None:
        return
    objections = Objections(attempt)
    filters = attempt.engine.runner.plugin_set.filter
    open_to = objections.open_to(*(plugin.name for plugin in filters if plugin.depends_on is not STATIC))
    for info in kinds_for(objections.nodes, open_to, tries.pod):
        csi = attempt.cycle.objects.get(CSINode, info.name)
        with altered(tries.cache, one_more_like(info, csi).difference):
            on_one = _fitting(tries, gang.waiting, gang.needed) - fits
        if on_one > 0 and (number := -(-(gang.needed - fits) // on_one)) <= MOST_NODES:
            yield _Offer(one_more_like(info, csi, number), gang.waiting, gang.needed)
            return
