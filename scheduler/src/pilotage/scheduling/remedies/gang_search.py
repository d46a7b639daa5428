"""What would give a whole gang its places at once: members, open gates, room, or a smaller quorum.

A gang of up to MOST_MEMBERS pods is tried pod by pod, in a copy of the cluster: between two steps its pods hold their
places there. Of a larger one, and where there is no copy, the room is counted, and what would help is not tried.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pilotage.framework.api.gate_remedies import open_gates
from pilotage.framework.api.lower_requests import ask_for_less
from pilotage.framework.api.nodes import Bools, Nodes
from pilotage.framework.api.pod_changes import with_spec
from pilotage.framework.api.remedies import Difference, Remedy
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.pod import Pod
from pilotage.scheduling.remedies.gang_room import counted
from pilotage.scheduling.remedies.members import MOST_MEMBERS, Members, Siblings, by_kind, sorted_out
from pilotage.scheduling.remedies.new_nodes import kinds_to_add, one_more_like, room_on_new
from pilotage.scheduling.remedies.ranking import ranked
from pilotage.scheduling.remedies.trying import Tries

MOST_TRIED = 2 * MOST_MEMBERS  # pods, where more wait than the gang needs
MOST_NODES = 32  # new ones that are tried
MOST_OFFERS = 8  # that are tried
TOO_LARGE = f"the gang has more than {MOST_MEMBERS} pods"
NO_COPY = "there is no copy of the cluster to try it in"


@dataclass(frozen=True)
class GangFound:
    """What was found for a gang."""

    remedies: tuple[Remedy, ...] = ()
    note: str = ""
    fits: int = 0  # how many of the waiting pods find room at once


def counted_for_gang(tries: Tries, siblings: Siblings, why: str = TOO_LARGE) -> Generator[None, None, GangFound]:
    """Count the room for a gang, and return what would help without trying it; nothing is changed."""
    gang = yield from sorted_out(siblings)
    waiting = yield from by_kind(gang.waiting)
    others = yield from by_kind(gang.gated)
    missing = [(tries.pod, gang.lacking)] if gang.lacking else []
    whole = yield from counted(tries, [*waiting, *others, *missing], gang.needed)
    room = whole if len(gang.waiting) >= gang.needed else (yield from counted(tries, waiting, gang.needed))
    if whole is None or room is None:
        return GangFound(note="nodes come and go too quickly to count the room for the gang")
    offers = [*_simple_offers(tries, gang, room.fits)]
    if len(gang.waiting) >= gang.needed > room.fits and len(waiting) == 1:
        yield
        offers += _less_each(tries, gang.needed)
        yield
        offers += _counted_nodes(tries, gang.needed - room.fits)
    untried = [replace(each, untried=why, plugin=each.plugin or gang.plugin.name) for each in offers]
    return GangFound(ranked(untried), whole.told(gang.needed) if whole.fits < gang.needed else "", room.fits)


def tried_for_gang(tries: Tries, siblings: Siblings) -> Generator[None, None, GangFound]:
    """Find the remedies for a gang in a copy of the cluster, where its pods hold their places between two steps."""
    gang = yield from sorted_out(siblings)
    gang = replace(gang, waiting=gang.waiting[:MOST_TRIED])
    found: list[Remedy] = []
    fits = yield from _fitting(tries, gang.waiting, gang.needed)
    offers = [*_simple_offers(tries, gang, fits)]
    if len(gang.waiting) >= gang.needed > fits:
        offers += _less_each(tries, gang.needed) if len({pod.shape for pod in gang.waiting}) == 1 else ()
        yield
        offers += yield from _tried_nodes(tries, gang, fits)
    for offered in offers[:MOST_OFFERS]:
        yield
        tried = yield from _tried(tries, gang, offered, fits)
        if tried is not None:
            found.append(tried)
    least = min(len(gang.waiting), gang.needed)
    short = f"{least - fits} of {gang.needed} pods find no room at once" if fits < least else ""
    return GangFound(ranked(found), short, fits)


def _simple_offers(tries: Tries, gang: Members, fits: int) -> Iterator[Remedy]:
    """Yield the pods that are missing or gated, and a smaller quorum."""
    if gang.lacking:
        yield _more_members(gang)
    elif len(gang.waiting) < gang.needed:
        yield replace(open_gates(gang.gated, of_others=True), size=len(gang.gated) / gang.needed)
    smaller = gang.plugin.with_fewer(gang.name, tries.pod, gang.needed - fits) if 0 < fits < gang.needed else None
    if smaller is not None:
        yield smaller


def _tried(tries: Tries, gang: Members, offer: Remedy, fits: int) -> Generator[None, None, Remedy | None]:
    pods, needed = gang.waiting, gang.needed
    if offer.code in ("moreMembers", "openGates"):
        pods = [*gang.waiting, *gang.gated, *_siblings(tries.pod, gang.lacking)]
    elif offer.code == "lowerQuorum":
        needed = fits
    elif offer.difference.pod is not None:
        pods = [_asking_like(offer.difference.pod, pod) for pod in gang.waiting]
    with tries.altered(offer.difference):
        found = yield from _fitting(tries, pods, needed)
    if found < needed:
        return None
    return replace(offer, verified=True, plugin=offer.plugin or gang.plugin.name)


def _fitting(tries: Tries, pods: Sequence[Pod], needed: int) -> Generator[None, None, int]:
    """Place pods together, until as many as are needed have a node; returns how many do."""
    held: list[str] = []
    cache = tries.cache
    tries.number += 1
    try:
        for pod in sorted(pods, key=lambda each: -each.requests.get("cpu", 0)):
            if len(held) == needed:
                break
            node = _place(tries, pod) if cache.find_pod(pod.uid) is None else None
            if node is not None:
                held.append(pod.uid)
                cache.assume(pod.on(node))
            yield
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


def _siblings(pod: Pod, number: int) -> list[Pod]:
    """Return more pods like one of a gang."""
    found = []
    for each in range(number):
        sibling = pod.on("")
        sibling.uid, sibling.name = f"{pod.uid}/sibling-{each}", f"{pod.name}-sibling-{each}"
        found.append(sibling)
    return found


def _more_members(gang: Members) -> Remedy:
    return Remedy(
        code="moreMembers",
        actor="owner",
        words="create {count} more of the {needed} pods that {gang} needs",
        values={"count": gang.lacking, "needed": gang.needed, "gang": str(gang.name)},
        size=gang.lacking / gang.needed,
    )


def _less_each(tries: Tries, needed: int) -> Iterator[Remedy]:
    """Yield the request with which enough pods of a gang of identical pods fit."""
    objections = tries.asked().objections
    if objections is None:
        return
    open_to = objections.open_to("NodeResourcesFit")
    for resource in tries.pod.requests:
        most = _largest(objections.nodes, open_to, tries.pod, resource, needed)
        remedy = ask_for_less(tries.pod, {resource: most}) if most else None
        if remedy is not None:
            words = f"{remedy.words} in every pod of the gang"
            yield replace(remedy, code="reduceGangRequest", words=words, plugin="NodeResourcesFit")


def _asking_like(changed: Pod, pod: Pod) -> Pod:
    spec = {name: getattr(changed.spec, name) for name in ("containers", "init_containers", "resources")}
    asking = with_spec(pod, {}, **spec).difference.pod
    assert asking is not None
    return asking


def _largest(nodes: Nodes, open_to: Bools, pod: Pod, resource: str, needed: int) -> int:
    """Return the largest request below the current one with which so many pods fit; 0 if there is none."""
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


def _tried_nodes(tries: Tries, gang: Members, fits: int) -> Generator[None, None, list[Remedy]]:
    """Return as many nodes of a kind as the pods without room need."""
    for info, csi in kinds_to_add(tries):
        with tries.altered(one_more_like(info, csi).difference):
            on_one = (yield from _fitting(tries, gang.waiting, gang.needed)) - fits
        if on_one > 0 and (number := -(-(gang.needed - fits) // on_one)) <= MOST_NODES:
            return [one_more_like(info, csi, number)]
    return []


def _counted_nodes(tries: Tries, lacking: int) -> list[Remedy]:
    """Return the same by arithmetic, for identical pods."""
    for info, _ in kinds_to_add(tries):
        number = -(-lacking // room_on_new(info, tries.pod))
        one = one_more_like(info)
        words = one.words if number == 1 else one.words.replace("one more node", "{count} more nodes")
        return [replace(one, words=words, values={**one.values, "count": number}, nodes=0, difference=Difference())]
    return []
