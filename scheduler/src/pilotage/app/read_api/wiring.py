"""Connects the read API to a live scheduler."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pilotage.app import Configured
from pilotage.app.read_api.serving import LiveApi, Standing
from pilotage.app.what_if_live import WhatIfs
from pilotage.views.answers import Alarm

if TYPE_CHECKING:
    from pilotage.app.live import Live

STUCK = "restart the pod; if it happens again, look for a slow plugin in its log"
NOT_READY = "look at the log of the pod and at the status of the SchedulerProfiles"
SEE_PROFILE = "look at the status of the SchedulerProfile, and revert its last change"


def wired(live: "Live") -> LiveApi:
    """Return the API of a scheduler, not started yet."""
    hot = live.hot
    what_ifs = WhatIfs(live.core, _ready(live), live.load, lambda: "" if hot is None else hot.following.running)
    observe = live.metrics.requests_to(f"{live.access.host}:{live.access.port}")
    made = LiveApi(live.core, _standing(live), live.options, live.access, observe, live.metrics, live.clock, what_ifs)
    if hot is not None:
        following = hot.following

        def follow() -> None:
            made.log.hash = following.running

        follow()
        following.on_applied.connect(follow)
    return made


def _ready(live: "Live") -> Callable[[], Configured]:
    hot = live.hot
    return (lambda: live.began_with) if hot is None else (lambda: hot.reloading.ready)


def _standing(live: "Live") -> Standing:
    hot, election, place = live.hot, live.election, live.options.config_map

    def leads() -> bool:
        return live.is_ready and not live.is_stopping and (election is None or election.is_leader)

    def label(labels: Mapping[str, str | None]) -> None:
        if hot is not None:
            hot.label(labels)

    return Standing(
        leads=leads,
        leader=lambda: live.own_name() if election is None else election.leader,
        pods=lambda: live.known.pods,
        alarms=lambda: _alarms(live),
        troubles=lambda: {} if hot is None else hot.policy_health.troubles(),
        overruns=live.metrics.overruns,
        label=label,
        annotate=(lambda _annotations: None) if hot is None else hot.annotate,
        own="" if place is None else f"{place.pod_namespace}/{place.pod_name}",
    )


def _alarms(live: "Live") -> Sequence[Alarm]:
    found = []
    if (trouble := live.core.loop.trouble()) is not None:
        found.append(Alarm(code="LoopStuck", text=trouble, do=STUCK))
    if live.hot is not None:
        if (missing := live.hot.missing()) is not None:
            found.append(Alarm(code="NotConfigured", text=missing, do=NOT_READY))
        for name, text in live.hot.policy_health.troubles().items():
            found.append(Alarm(code="ProfileFailing", text=f"{name}: {text}", do=SEE_PROFILE))
    if ended := live.watching.ended():
        found.append(Alarm(code="WatchEnded", text=f"watches have ended: {', '.join(ended)}", do=STUCK))
    return found
