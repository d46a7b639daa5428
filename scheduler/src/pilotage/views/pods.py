"""One pod: its place, its attempts, and an estimate of how much longer it waits."""

from itertools import islice
from typing import Literal

from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.views.answers import AttemptShown, Estimate, Place, PodView
from pilotage.views.decisions import attempt_shown
from pilotage.views.queue import gang_name, place_of, position_of
from pilotage.views.quotas import quota_of
from pilotage.views.reasons import reason_of
from pilotage.views.state import STEP, Stamp, State, Steps, owner_of, when
from pilotage.views.viewer import Viewer, Words

MOST_LOOKED_AT = 5_000  # decisions, for the attempts of a placed pod, and for an estimate
FEWEST_LIKE_IT = 5  # pods, below which nothing is estimated
Standing = Literal["waiting", "inFlight", "assumed", "bound"]


def pod_view(state: State, viewer: Viewer, stamp: Stamp, key: str) -> Steps[PodView | None]:
    """Return what is known about a pod; None if it does not exist."""
    queued = state.queue.find(key)
    pod = state.pods().get(key) if queued is None else queued.pod
    if pod is None:
        return None
    words = Words(state, viewer)
    attempts = yield from _attempts(state, pod, words)
    estimate = None if queued is None else (yield from _estimate(state, queued))
    standing, place, node = _standing(state, queued, pod)
    next_try = None if queued is None else state.queue.next_try(queued)
    return PodView(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        profile=pod.scheduler_name,
        state=standing,
        place=place,
        node=node if viewer.nodes else "",
        priority=pod.priority,
        since=None if queued is None else when(queued.since),
        next_try=None if next_try is None else when(next_try),
        position=None if queued is None else position_of(state, queued),
        estimate=estimate,
        reason=None if queued is None else reason_of(state, queued, words),
        attempts=attempts,
        gang=gang_name(pod),
        quota=quota_of(state, pod, words),
        owner=owner_of(pod),
        requests=dict(pod.requests),
    )


def _standing(state: State, queued: QueuedPod | None, pod: Pod) -> tuple[Standing, Place | Literal[""], str]:
    if queued is not None:
        return "waiting", place_of(queued), state.queue.nominator.node_of(pod) or ""
    if state.waiting.get(pod.uid) is not None:
        placed = state.cache.find_pod(pod.uid)
        return "assumed", "permit", "" if placed is None else placed.node_name
    if state.cache.is_assumed(pod.uid):
        placed = state.cache.find_pod(pod.uid)
        return "assumed", "", "" if placed is None else placed.node_name
    return ("bound", "", pod.node_name) if pod.node_name else ("inFlight", "inFlight", "")


def _attempts(state: State, pod: Pod, words: Words) -> Steps[list[AttemptShown]]:
    found = state.log.attempts(pod.uid)
    if not found:  # it is placed, and only the ring may still have its attempts
        for number, (_, decision) in enumerate(islice(state.log.newest_first(), MOST_LOOKED_AT)):
            if number % STEP == STEP - 1:
                yield
            if decision.uid == pod.uid:
                found.append(decision)
    return [attempt_shown(state, decision, words) for decision in found[:20]]


def _estimate(state: State, queued: QueuedPod) -> Steps[Estimate | None]:
    """Return how much longer other pods of the profile waited after having waited as long as this one."""
    so_far = state.clock() - queued.since
    rest = []
    for number, (_, decision) in enumerate(islice(state.log.newest_first(), MOST_LOOKED_AT)):
        if number % STEP == STEP - 1:
            yield
        if not decision.feasible or decision.first is None or decision.profile != queued.pod.scheduler_name:
            continue
        waited = state.log.moment(decision.ended) - decision.first
        if decision.attempt > 1 and waited > so_far:
            rest.append(waited - so_far)
    if len(rest) < FEWEST_LIKE_IT:
        return None
    rest.sort()
    return Estimate(p50=round(rest[len(rest) // 2], 1), p90=round(rest[len(rest) * 9 // 10], 1), basis=len(rest))
