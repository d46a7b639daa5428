"""The search: which plugins object to which nodes, what each of them offers, and a try of the best offers.

objections ── one plugin against a node ──> its offers ── tried ──> singles ──┐
     │                                                                        ├──> ranked
     ├── no single for the owner: two plugins against a node ──> pairs ───────┤
     └── others: terminating pods, a new node, a higher priority ─────────────┘

Between two steps the cluster may change: what a step found out about slots is not used by the next one.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from pilotage.framework.api.remedies import Actor, Difference, Remedy
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.remedies.new_nodes import new_nodes
from pilotage.scheduling.remedies.objections import Objections
from pilotage.scheduling.remedies.offers import generic, offers
from pilotage.scheduling.remedies.others import higher_priority, leaving_already
from pilotage.scheduling.remedies.ranking import ranked, worth_trying
from pilotage.scheduling.remedies.trying import Asked, Tries

MOST_TRIED = 8
MOST_PAIRS = 3  # pairs of plugins that are considered
FIRST_STEPS = 2  # offers that are considered where the pod is rejected as a whole
SECOND_STEPS = 2

ORDER: tuple[Actor, ...] = ("wait", "owner", "admin")

Steps = Generator[None, None, list[Remedy]]


def searched(tries: Tries) -> Generator[None, None, tuple[Remedy, ...]]:
    """Find the remedies for a pod, the best first; other work may run at each yield."""
    try:
        singles = yield from _tried(tries, (yield from _offered(tries)))
        found = singles + (yield from _others(tries))
        if not any(each.actor != "admin" for each in found):
            found += yield from _pairs(tries)
    except PluginFailed:
        return ()  # a plugin fails for this pod, so nothing can be tried
    return ranked(found)


def _offered(tries: Tries) -> Steps:
    """Return the offers of plugins for nodes that each of them alone rejects, or for the pod as a whole."""
    asked = tries.asked()
    if asked.rejection is None:
        yield
        asked = tries.asked()  # slots may be those of other nodes by now
    return list(_offers(asked))


def _offers(asked: Asked) -> Iterator[Remedy]:
    if asked.rejection is not None:
        return _for_the_pod(asked.attempt, asked.rejection)
    assert asked.objections is not None
    return _for_nodes(asked.attempt, asked.objections)


def _for_the_pod(attempt: Attempt, rejection: Rejection) -> Iterator[Remedy]:
    plugins = attempt.engine.runner.plugin_set.plugins()
    for name in (rejection.plugin, *attempt.before.restricting):
        if (plugin := plugins.get(name)) is not None:
            yield from offers(plugin, attempt.cycle, attempt.cycle.nodes)


def _for_nodes(attempt: Attempt, objections: Objections) -> Iterator[Remedy]:
    for plugin, nodes in objections.alone():
        yield from offers(plugin, attempt.cycle, nodes)
        yield from generic(plugin, attempt.cycle, nodes)


def _tried(tries: Tries, offered: Sequence[Remedy]) -> Steps:
    """Try what is offered; a plugin is quoted only if nothing that it offers helps."""
    found = [each for each in offered if each.untried]
    for each in worth_trying((each for each in offered if not each.untried), MOST_TRIED):
        if each.code == "satisfyPlugin" and any(other.plugin == each.plugin for other in found):
            continue
        yield
        tried = tries.tried(each)
        if tried is not None:
            found.append(tried)
    return found


def _others(tries: Tries) -> Steps:
    """Return remedies that do not come from a single plugin."""
    found: list[Remedy] = []
    for offering in (leaving_already, new_nodes, higher_priority):
        yield
        for each in offering(tries):
            yield
            tried = each if each.verified else tries.tried(each)
            if tried is not None:
                found.append(tried)
                break
    return found


def _pairs(tries: Tries) -> Steps:
    """Return pairs of changes where no single one helps."""
    found: list[Remedy] = []
    yield
    firsts = [each for each in _first_steps(tries) if not each.untried]
    for first in firsts:
        yield
        if (alone := tries.tried(first)) is not None:
            found.append(alone)
    if found:
        return found  # one change that satisfies both plugins
    for first in (each for each in firsts if not each.difference.leaving):
        yield
        for second in _second_steps(tries, first):
            yield
            if (both := tries.tried(together(first, second))) is not None:
                found.append(both)
                break
    return found


def _first_steps(tries: Tries) -> list[Remedy]:
    """Return the offers of plugins that reject the pod as a whole, or nodes together with another plugin."""
    asked = tries.asked()
    if asked.objections is None:
        return list(_offers(asked))[:FIRST_STEPS]
    found: list[Remedy] = []
    for number, (one, other, nodes) in enumerate(asked.objections.pairs()):
        if number == MOST_PAIRS:
            break
        for plugin in (one, other):
            found += offers(plugin, asked.attempt.cycle, nodes)[:1]
    return found


def _second_steps(tries: Tries, first: Remedy) -> list[Remedy]:
    """Return the offers of plugins once a first change is made."""
    with tries.altered(first.difference):
        offered = list(_offers(tries.asked_about(first.difference.pod or tries.pod)))
        told = [each for each in offered if each.code != "satisfyPlugin" and not each.untried]
        return worth_trying(told, SECOND_STEPS)


def together(first: Remedy, second: Remedy) -> Remedy:
    """Return two changes as one; the second is for a cluster with the first."""
    one, other = first.difference, second.difference
    nodes = {node.name: node for node in (*one.nodes, *other.nodes)}
    objects = {
        (type(each), each.metadata.namespace, each.metadata.name): each for each in (*one.objects, *other.objects)
    }
    difference = Difference(
        pod=other.pod or one.pod,
        nodes=tuple(nodes.values()),
        objects=tuple(objects.values()),
        leaving=tuple({pod.uid: pod for pod in (*one.leaving, *other.leaving)}.values()),
        arriving=(*one.arriving, *other.arriving),
        agreeing=one.agreeing | other.agreeing,
    )
    return Remedy(
        code="both",
        actor=max(first.actor, second.actor, key=ORDER.index),
        words="",
        changes=(*first.changes, *second.changes),
        size=first.size + second.size,
        difference=difference,
        steps=(replace(first, difference=Difference()), replace(second, difference=Difference())),
        plugin=f"{first.plugin}, {second.plugin}",
    )
