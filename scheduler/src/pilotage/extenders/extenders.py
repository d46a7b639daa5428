"""Calls extenders in sequence or concurrently, and handles their failures."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pilotage.cluster.services.extender import MAX_PRIORITY, Extender, ExtenderSettings
from pilotage.cluster.transport.service_tls import TLS
from pilotage.config.extender_services import service_of
from pilotage.config.types import Extender as ExtenderConfig
from pilotage.framework.api.events import EXTENDER_RETRIES
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.verdicts import Rejection
from pilotage.framework.runtime.preemption.victims import Victims
from pilotage.model.extender_messages import ExtenderFailed, VictimsOnNode
from pilotage.model.outside_services import OutsideRules, refusals
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

EXTENDER = "Extender"  # in place of a plugin's name in the queue, for all extenders
MOST = 1 << 62  # limit of extenders' scores; the sum with plugins' scores fits into 64 bits

PodsOnNode = Callable[[str], Mapping[str, Pod] | None]  # by uid; None if there is no such node


class Extenders(Plugin):
    """Represents all extenders in the queue; they have no queueing hints."""

    retry_on = EXTENDER_RETRIES


Extenders.name = EXTENDER


@dataclass
class Opinion:
    """The result of the calls: the remaining nodes, reasons for the others, and scores."""

    asked: frozenset[str]
    left: list[str]
    rejections: dict[str, Rejection] = field(default_factory=dict)  # of nodes that an extender gave a reason for
    scores: dict[str, int] = field(default_factory=dict)


def settings_of(given: ExtenderConfig, rules: OutsideRules | None = None) -> ExtenderSettings:
    """Return the settings of an extender from its entry; without rules, the configuration is trusted."""
    refused = () if rules is None else refusals(service_of(given), rules)
    return ExtenderSettings(
        url_prefix=given.url_prefix,
        filter_verb=given.filter_verb,
        prioritize_verb=given.prioritize_verb,
        preempt_verb=given.preempt_verb,
        bind_verb=given.bind_verb,
        weight=given.weight,
        node_cache_capable=given.node_cache_capable,
        ignorable=given.ignorable,
        managed_resources=frozenset(resource.name for resource in given.managed_resources),
        timeout=given.http_timeout.seconds,
        enable_https=given.enable_https,
        tls=TLS() if given.tls_config is None else TLS(**dict(given.tls_config)),
        directory=None if rules is None else rules.directory,
        refused="; ".join(f"{field}: {text}" for field, text in refused),
    )


async def ask(extenders: Iterable[Extender], pod: Pod, nodes: Sequence[str]) -> Opinion:
    """Let the interested extenders filter in order, each on the result of the previous one, then score."""
    extenders = list(extenders)
    opinion = await filter_nodes(extenders, pod, nodes)
    if len(opinion.left) > 1:
        opinion.scores = await prioritize_nodes(extenders, pod, opinion.left)
    return opinion


async def filter_nodes(extenders: Iterable[Extender], pod: Pod, nodes: Sequence[str]) -> Opinion:
    """Call one extender after the other; ExtenderFailed if a non-ignorable one fails."""
    opinion = Opinion(frozenset(nodes), list(nodes))
    for extender in extenders:
        if not opinion.left:
            break
        if not extender.filter_verb:
            continue
        try:
            result = await extender.filter(pod, opinion.left)
        except ExtenderFailed as error:
            if not extender.ignorable:
                raise
            log.warning("the ignorable extender %s is skipped for pod %s: %s", extender.name, pod.key, error)
            continue
        opinion.left = list(result.names or ())
        for hopeless, reasons in ((False, result.failed), (True, result.unresolvable)):  # the latter takes precedence
            for node, reason in reasons.items():
                opinion.rejections[node] = Rejection(reason, preemption_helps=not hopeless, plugin=EXTENDER)
    return opinion


async def prioritize_nodes(extenders: Iterable[Extender], pod: Pod, nodes: Sequence[str]) -> dict[str, int]:
    """Call all extenders concurrently, and add up their scores; failures count as no scores."""
    asked = [extender for extender in extenders if extender.prioritize_verb]
    answers = await asyncio.gather(*(_scores(extender, pod, nodes) for extender in asked))
    totals = dict.fromkeys(nodes, 0)
    for extender, scores in zip(asked, answers, strict=True):
        points = extender.weight * (MAX_SCORE // MAX_PRIORITY)
        for node, score in scores:
            if node in totals:
                totals[node] += score * points
    return {node: max(-MOST, min(MOST, total)) for node, total in totals.items()}


async def _scores(extender: Extender, pod: Pod, nodes: Sequence[str]) -> list[tuple[str, int]]:
    try:
        return await extender.prioritize(pod, nodes)
    except ExtenderFailed as error:
        log.warning("extender %s cannot score nodes for pod %s: %s", extender.name, pod.key, error)
        return []


async def trim_victims(
    extenders: Iterable[Extender], pod: Pod, candidates: Sequence[Victims], pods_on: PodsOnNode
) -> list[Victims]:
    """Let the interested extenders drop nodes and change victims, each on the result of the previous one.

    ExtenderFailed if a non-ignorable one fails.
    """
    left = {victims.node: victims for victims in candidates}
    for extender in extenders:
        if not left:
            break
        if not extender.preempt_verb:
            continue
        try:
            answer = await extender.preempt(pod, left)
            left = {
                node: victims
                for node, found in answer.items()
                if (victims := _resolved(extender, pod, node, found, pods_on)) is not None
            }
        except ExtenderFailed as error:
            if not extender.ignorable:
                raise
            log.warning("extender %s is skipped in preemption for pod %s: %s", extender.name, pod.key, error)
    return list(left.values())


def _resolved(extender: Extender, pod: Pod, node: str, found: VictimsOnNode, pods_on: PodsOnNode) -> Victims | None:
    """Return the pods that an extender names; None for a node without victims from an ignorable extender."""
    there = pods_on(node)
    if there is None:
        raise ExtenderFailed(f'nodeinfo not found for node name "{node:.253}"')
    victims = []
    for uid in dict.fromkeys(found.uids):
        victim = there.get(uid)
        claim = f"extender: {extender.name} claims to preempt pod (UID: &{{{uid:.253}}}) on node: {node}"
        if victim is None:
            raise ExtenderFailed(f"{claim}, but the pod is not found on that node")
        if victim.priority >= pod.priority:  # kube-scheduler would evict it, but preemption must not
            raise ExtenderFailed(f"{claim}, but its priority is not lower than that of pod {pod.key}")
        victims.append(victim)
    if victims:
        victims.sort(key=lambda victim: -victim.priority)  # the most important first, as elsewhere
        return Victims(node, tuple(victims), found.violations)
    if extender.ignorable:
        return None
    raise ExtenderFailed(f'expected at least one victim pod on node "{node}"')


async def bind_by_extender(extenders: Iterable[Extender], pod: Pod, node: str) -> bool:
    """Bind the pod with the first extender that binds such pods; False if there is none, or an ignorable one fails."""
    for extender in extenders:
        if not extender.bind_verb or not extender.interested(pod):
            continue
        try:
            await extender.bind(pod, node)
        except ExtenderFailed as error:
            if not extender.ignorable:
                raise
            log.warning("the ignorable extender %s did not bind pod %s: %s", extender.name, pod.key, error)
        else:
            return True
    return False
