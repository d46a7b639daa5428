"""Serves the plugins of our profiles as an extender: answers requests of another scheduler from memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.plugin import STATIC, Plugin
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.kinds.decoding import Undecodable, decode
from pilotage.model.extender_messages import FilterResult, Malformed, NodesQuestion, PreemptQuestion, VictimsOnNode
from pilotage.model.node import Node, NodeObject
from pilotage.model.pod import Pod, PodObject
from pilotage.profiles import Profile
from pilotage.scheduling.attempt import Attempt, Nominations
from pilotage.scheduling.engine import Engine

MAX_PRIORITY = 10  # the score of the best node; others are scaled accordingly
UNKNOWN_NODE = Rejection("the extender does not know the node yet")
MOST_OTHERS = 1000  # nodes beyond twice the requested number that are kept for the next request


class NoNominations:
    """An extender does not know nominations."""

    nodes: tuple[str, ...] = ()
    version = 0

    def changed_since(self, version: int) -> Sequence[str]:
        """Return the nodes whose nominations changed."""
        return ()

    def node_of(self, pod: Pod) -> str | None:
        """Return the node that is nominated for a pod."""
        return None

    def pods_for_node(self, node: str) -> Sequence[Pod]:
        """Return the pods for which a node is nominated."""
        return ()


class ExtenderService:
    """Answers for the profile that a pod names, otherwise for the first one.

    With a live cache of all nodes and pods, requests name nodes and all plugins work. Without one, requests contain
    nodes but not their pods, so only plugins that depend just on the node object work: see `static_profiles`.
    """

    def __init__(
        self,
        engines: Mapping[str, Engine],
        cache: ClusterCache,
        *,
        cache_is_live: bool,
        nominations: Nominations | None = None,
    ) -> None:
        self._engines = engines
        self._first = next(iter(engines.values()))
        self._cache = cache
        self._is_live = cache_is_live
        self._nominations = nominations or NoNominations()
        self._objects: dict[str, bytes] = {}  # nodes from requests, by name

    def filter(self, question: NodesQuestion) -> tuple[FilterResult, list[bytes] | None]:
        """Return the nodes that fit, and why others do not; as objects if the request had objects."""
        pod, asked = _pod(question.pod), self._take(question)
        try:
            verdicts = self._verdicts(pod, list(asked))
        except PluginFailed as error:
            return FilterResult(error=str(error)), None
        left = [name for name, rejection in verdicts.items() if rejection is None]
        rejected = {name: rejection for name, rejection in verdicts.items() if rejection is not None}
        result = FilterResult(
            names=left,
            failed={name: each.message for name, each in rejected.items() if each.preemption_helps},
            unresolvable={name: each.message for name, each in rejected.items() if not each.preemption_helps},
        )
        if question.nodes is None:
            return result, None
        return result._replace(names=None), [asked[name] for name in left]

    def prioritize(self, question: NodesQuestion) -> list[tuple[str, int]]:
        """Return a score from 0 to 10 for each node, all 0 if none is preferred; PluginFailed if a plugin fails.

        Plugins that give all nodes the same score are left out: they would dilute the other scores.
        """
        pod, asked = _pod(question.pod), self._take(question)
        attempt = self._attempt(pod)
        scores = dict.fromkeys(asked, 0)
        if attempt.run_pre_filter().rejection is None and len(attempt.cycle.nodes):
            feasible = attempt.feasible()
            nodes = feasible.take(np.array([info.name in scores for info in feasible], np.bool_))
            totals = attempt.totals(nodes, preferring_only=True).tolist() if len(nodes) else []
            best = max(totals, default=0)
            if best > 0:
                scores |= {info.name: total * MAX_PRIORITY // best for info, total in zip(nodes, totals, strict=True)}
        return list(scores.items())

    def preempt(self, question: PreemptQuestion) -> dict[str, VictimsOnNode]:
        """Return the nodes where the pod fits without its victims; all of them if pods are unknown."""
        if not self._is_live:
            return dict(question.victims)
        attempt = self._attempt(_pod(question.pod))
        before = attempt.run_pre_filter().rejection
        if before is not None and not before.preemption_helps:
            return {}
        return {node: found for node, found in question.victims.items() if self._helps(attempt, node, found)}

    def _helps(self, attempt: Attempt, node: str, victims: VictimsOnNode) -> bool:
        info = self._cache.find_node(node)
        if info is None:
            return False
        trial = attempt.cycle.try_on(info)
        for uid in victims.uids:
            if (victim := info.pods.get(uid)) is not None:
                trial.remove(victim)
        return trial.verdict() is None

    def _verdicts(self, pod: Pod, names: Sequence[str]) -> dict[str, Rejection | None]:
        attempt = self._attempt(pod)
        before = attempt.run_pre_filter().rejection
        if before is not None:
            return dict.fromkeys(names, before)
        if len(attempt.cycle.nodes):
            attempt.feasible()
        rejections = [None, *(attempt.entry.rejections if attempt.entry else ())]
        verdicts: dict[str, Rejection | None] = {}
        for name in names:
            info = self._cache.find_node(name)
            verdicts[name] = UNKNOWN_NODE if info is None else rejections[attempt.codes[info.slot]]
        return verdicts

    def _attempt(self, pod: Pod) -> Attempt:
        engine = self._engines.get(pod.scheduler_name, self._first)
        return Attempt(self._cache, engine, self._nominations, pod)

    def _take(self, question: NodesQuestion) -> dict[str, bytes]:
        """Return the nodes of a request by name; without a live cache, add them first."""
        if question.nodes is None:
            return dict.fromkeys(question.names or (), b"")
        asked = {_name(raw): raw for raw in question.nodes}
        if not self._is_live:
            for name, raw in asked.items():
                if self._objects.get(name) != raw:
                    self._cache.put_node(_node(raw))
                    self._objects[name] = raw
            self._let_go(asked)
        return asked

    def _let_go(self, asked: Mapping[str, bytes]) -> None:
        """Forget nodes that are no longer requested once they are many."""
        if len(self._objects) > 2 * len(asked) + MOST_OTHERS:
            for name in [name for name in self._objects if name not in asked]:
                del self._objects[name]
                self._cache.remove_node(name)


def static_profiles(profiles: Mapping[str, Profile]) -> tuple[dict[str, Profile], list[str]]:
    """Return the profiles with only plugins that depend just on the node object, and the names of the others."""
    kept: dict[str, Profile] = {}
    left_out: dict[str, None] = {}
    for name, profile in profiles.items():
        plugin_set = profile.plugin_set
        asked = (*plugin_set.pre_filter, *plugin_set.filter, *plugin_set.pre_score, *plugin_set.score)
        left_out |= {plugin.name: None for plugin in asked if not _is_static(plugin)}
        static = PluginSet(
            pre_filter=tuple(filter(_is_static, plugin_set.pre_filter)),
            filter=tuple(filter(_is_static, plugin_set.filter)),
            pre_score=tuple(filter(_is_static, plugin_set.pre_score)),
            score=tuple(filter(_is_static, plugin_set.score)),
            weights=plugin_set.weights,
        )
        kept[name] = replace(profile, plugin_set=static)
    return kept, list(left_out)


def _is_static(plugin: Plugin) -> bool:
    return plugin.depends_on is STATIC and not plugin.reads


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def _name(raw: bytes) -> str:
    try:
        name = msgspec.json.decode(raw, type=_Named).metadata.name
    except msgspec.DecodeError as error:
        raise Malformed(f"a node cannot be read: {error}") from None
    if not name:
        raise Malformed("a node has no name")
    return name


def _node(raw: bytes) -> Node:
    try:
        return Node(msgspec.json.decode(raw, type=NodeObject))
    except msgspec.ValidationError:  # possibly because of a null, which few objects have
        found = _decoded(raw, NodeObject, "a node")
        assert isinstance(found, Node)
        return found


def _pod(raw: bytes) -> Pod:
    found = _decoded(raw, PodObject, "the pod")
    assert isinstance(found, Pod)
    return found


def _decoded(raw: bytes, kind: type[PodObject | NodeObject], what: str) -> object:
    try:
        return decode(msgspec.json.decode(raw, type=dict), kind)
    except (msgspec.DecodeError, Undecodable) as error:
        raise Malformed(f"{what} cannot be read: {error}") from None
