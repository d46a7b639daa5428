"""Our own engine, asked what the real one was asked."""

from dataclasses import replace
from random import Random

from oracle.decision import GATED, Decision
from oracle.our_claims import claims_written
from oracle.scenario import Manifest
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.load import load
from pilotage.kinds.decoding import decode
from pilotage.kinds.every import kind_of
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import built_in
from pilotage.profiles import build_profiles
from pilotage.queue.nominator import Nominator
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.explanation import Explanation, explain
from pilotage.scheduling.outcome import Outcome, Placed


class Ours:
    """Our engine with the configuration that the real one has."""

    def __init__(self, configuration: str) -> None:
        self._catalogue = built_in()
        self._loaded = load(configuration, self._catalogue)

    def decide(self, objects: list[Manifest], pod: Manifest, preferred: str | None = None) -> Decision:
        """Decide a pending pod in a cluster, both as a client reads them from the API server.

        Of equally good nodes ours takes the preferred one, so that what is written for it can be compared.
        """
        cache = ClusterCache()
        waiting = _Waiting()
        for manifest in objects:
            kind = kind_of(manifest)
            if kind is not None:
                _take_in(cache, waiting, decode(manifest, kind))
        wanted = decode(pod, _known_kind(pod))
        assert isinstance(wanted, Pod)
        waiting.add(wanted)
        # New plugins for each cluster: they remember what they have seen of theirs.
        built = build_profiles(self._loaded, self._catalogue, only=wanted.scheduler_name)
        decision = _decision(cache, profiles := engines(built, cache), waiting, wanted, preferred)
        written = claims_written(cache.objects, profiles[wanted.scheduler_name], pod) if decision.node else {}
        return replace(decision, claims=written)


class _Waiting:
    """Pods that wait, and the nodes that were nominated for them."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self.nominator = Nominator(self._pods.get)

    def add(self, pod: Pod) -> None:
        self._pods[pod.key] = pod
        self.nominator.add(pod)


def _known_kind(manifest: Manifest) -> type[object]:
    kind = kind_of({"apiVersion": "v1", **manifest})
    assert kind is not None
    return kind


def _take_in(cache: ClusterCache, waiting: _Waiting, found: object) -> None:
    if isinstance(found, Node):
        cache.put_node(found)
    elif not isinstance(found, Pod):
        cache.objects.put(found)  # type: ignore[arg-type]  # every kind but pods and nodes
    elif found.node_name and not found.is_finished:
        cache.put_pod(found)
    elif not found.is_finished:
        waiting.add(found)


def _decision(
    cache: ClusterCache, profiles: dict[str, Engine], waiting: _Waiting, pod: Pod, preferred: str | None
) -> Decision:
    engine = profiles[pod.scheduler_name]
    for gate in engine.runner.plugin_set.pre_enqueue:
        rejection = gate.pre_enqueue(pod)
        if rejection is not None:
            return Decision(pod.key, reason=GATED, message=rejection.message, rejectors=frozenset({gate.name}))
    story = explain(cache, engine, waiting.nominator, pod)
    outcome = _outcome(cache, profiles, waiting, pod, preferred)
    seen = {"feasible": frozenset(node.node for node in story.feasible), **_numbers(story)}
    if isinstance(outcome, Placed):
        return Decision(pod.key, outcome.node, **seen)  # type: ignore[arg-type]  # fields by name
    return Decision(
        pod.key,
        None,
        outcome.reason,
        outcome.message,
        **seen,  # type: ignore[arg-type]  # fields by name
        nominated=outcome.nominate or "",  # the real one logs "" for both: a nomination taken back, and one left alone
        victims=frozenset(outcome.victims),
        rejectors=outcome.rejected_by | outcome.pending,
    )


class _Nth(Random):
    """Always chooses the same place."""

    def __init__(self, place: int) -> None:
        super().__init__(0)
        self._place = place

    def randrange(self, *_: int) -> int:  # type: ignore[override]
        """Return the place."""
        return self._place


def _outcome(
    cache: ClusterCache, profiles: dict[str, Engine], waiting: _Waiting, pod: Pod, preferred: str | None
) -> Outcome:
    """Try one of the best nodes after the other, until it is the preferred one."""
    place = 0
    while True:
        scheduler = Scheduler(cache, profiles, waiting.nominator, _Nth(place))
        outcome = scheduler.schedule(pod)
        place += 1
        if not isinstance(outcome, Placed) or outcome.node == preferred or place >= outcome.ties:
            return outcome
        scheduler.unreserve(outcome)


def _numbers(story: Explanation) -> dict[str, object]:
    if len(story.feasible) < 2:
        return {}
    scores: dict[str, dict[str, int]] = {}
    for node in story.feasible:
        for plugin, score in node.scores.items():
            scores.setdefault(plugin, {})[node.node] = score.weighted
    return {"scores": scores, "totals": {node.node: node.total for node in story.feasible}}
