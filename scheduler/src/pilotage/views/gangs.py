"""Gangs: the progress of each, and what blocks it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pilotage.framework.api.gangs import FormsGangs
from pilotage.kinds.pod_groups import NativePodGroup, PodGroup
from pilotage.model.gangs import BY_GROUP, NATIVE, GangName, gang_of
from pilotage.model.moments import seconds_of
from pilotage.plugins.gangs.coscheduling.coscheduling import Coscheduling
from pilotage.queue.queued_pod import QueuedPod
from pilotage.views.answers import BlockedBy, Gang, Gangs, GangView, Room
from pilotage.views.paging import after, continued, page
from pilotage.views.queue import item_of
from pilotage.views.reasons import main_code, plugins_of, summary
from pilotage.views.state import STEP, Stamp, State, Steps, when
from pilotage.views.viewer import Viewer, Words

GROUPS: tuple[tuple[str, type[PodGroup] | type[NativePodGroup]], ...] = ((BY_GROUP, PodGroup), (NATIVE, NativePodGroup))
MOST_PODS = 500  # of one gang


@dataclass(slots=True)
class _Members:
    waiting: list[QueuedPod] = field(default_factory=list)
    quorum: int = 0
    created: str | None = None


def gangs(
    state: State, viewer: Viewer, stamp: Stamp, *, namespace: str = "", limit: int = 100, token: str = ""
) -> Steps[Gangs]:
    """Return the gangs of visible namespaces."""
    every = yield from _every(state, viewer, namespace)
    behind = after(token, tuple[str, str, str])
    found, total, more = yield from page(
        every.items(), lambda each: (each[0].namespace, each[0].name, each[0].source), limit, behind
    )
    words, items = Words(state, viewer), []
    for number, (name, members) in enumerate(found):
        if number % 20 == 19:
            yield
        items.append(_shown(state, name, members, words))
    last = found[-1][0] if found else None
    return Gangs(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        total=total,
        items=items,
        continue_=continued(last.namespace, last.name, last.source) if more and last else "",
    )


def gang(state: State, viewer: Viewer, stamp: Stamp, namespace: str, name: str) -> Steps[Gang | None]:
    """Return one gang with its pending pods; None if it does not exist."""
    every = yield from _every(state, viewer, namespace)
    found = next((each for each in every.items() if each[0].name == name), None)
    if found is None:
        return None
    words = Words(state, viewer)
    pods = [item_of(state, queued, words) for queued in found[1].waiting[:MOST_PODS]]
    shown = _shown(state, *found, words)
    return Gang(at=stamp.at, revision=stamp.revision, source=stamp.source, gang=shown, pods=pods)


def _every(state: State, viewer: Viewer, namespace: str) -> Steps[dict[GangName, _Members]]:
    found: dict[GangName, _Members] = {}
    for source, kind in GROUPS:
        for number, group in enumerate(state.cache.objects.all(kind, namespace or None)):
            if number % STEP == STEP - 1:
                yield
            metadata = group.metadata
            if viewer.sees(metadata.namespace):
                name = GangName(source, metadata.namespace, metadata.name)
                found[name] = _Members(quorum=group.quorum, created=metadata.creation_timestamp)
    for number, queued in enumerate(state.queue):
        if number % STEP == STEP - 1:
            yield
        if not viewer.sees(queued.pod.namespace) or namespace not in ("", queued.pod.namespace):
            continue
        if (named := gang_of(queued.pod)) is not None:
            found.setdefault(named, _Members()).waiting.append(queued)
    return found


def _shown(state: State, name: GangName, members: _Members, words: Words) -> GangView:
    profile = members.waiting[0].pod.scheduler_name if members.waiting else ""
    plugin = next(_plugins(state, profile), None)
    gated = sum(queued.is_gated for queued in members.waiting)
    placed = 0 if plugin is None else plugin.placed(name)
    quorum = members.quorum
    if not quorum and plugin is not None and members.waiting:
        quorum = plugin.quorum(name, members.waiting[0].pod) or 0
    since = min((queued.since for queued in members.waiting), default=seconds_of(members.created))
    return GangView(
        namespace=name.namespace,
        name=name.name,
        quorum=quorum,
        placed=placed,
        waiting=len(members.waiting) - gated,
        gated=gated,
        missing=max(0, quorum - placed - len(members.waiting)),
        profile=profile,
        blocked_by=_blocked_by(state, members, words),
        room=_room(state, members),
        since=None if since is None else when(since),
    )


def _plugins(state: State, profile: str) -> Iterator[Coscheduling]:
    for name, engine in state.engines.items():
        plugin: FormsGangs | None = engine.gangs
        if isinstance(plugin, Coscheduling) and profile in ("", name):
            yield plugin


def _blocked_by(state: State, members: _Members, words: Words) -> BlockedBy | None:
    """Return the reason of the newest attempt of any of its pods, one about nodes rather than about siblings."""
    tried = [(last, queued) for queued in members.waiting if (last := state.log.last(queued.pod.uid)) is not None]
    if not tried:
        return None
    last, queued = max(tried, key=lambda each: (bool(each[0].counted), each[0].ended))
    text = words(summary(last.message, last.counted))
    return BlockedBy(code=main_code(last.reason, last.counted, plugins_of(queued))[0], text=text, pod=queued.pod.name)


def _room(state: State, members: _Members) -> Room | None:
    tried = [last for queued in members.waiting if (last := state.log.last(queued.pod.uid)) is not None]
    newest = max((last for last in tried if last.fits is not None), key=lambda last: last.ended, default=None)
    if newest is None or newest.fits is None:
        return None
    reasons = [text for rejection, _ in newest.counted for text in rejection.reasons]
    return Room(at_once=newest.fits, limiting=reasons[0] if reasons else "")
