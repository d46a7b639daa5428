"""Pending pods: sorted rows, or groups."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pilotage.model.gangs import gang_of
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.views import answers
from pilotage.views.answers import Place, Position, QueueCounts, QueueGroup, QueueItem, Reason
from pilotage.views.paging import InvalidQuestion, after, continued, page_of_keys
from pilotage.views.reasons import plugins_of, reason_of
from pilotage.views.state import STEP, Stamp, State, Steps, owner_of, when
from pilotage.views.tally import Cell, Kind
from pilotage.views.viewer import Viewer, Words

GroupBy = Literal["", "reason", "plugin", "namespace", "owner", "shape", "profile", "gang"]
Sort = Literal["since", "-since", "priority", "attempts", "name"]
MOST_POSITIONS = 1_000  # ready pods; beyond that rows have no position
MOST_GROUPS = 500
A_PART = 500  # pods that are sorted in one step


@dataclass(frozen=True)
class QueueQuestion:
    """Selects pods, and the form of the answer."""

    group_by: GroupBy = ""
    place: str = ""
    namespace: str = ""
    profile: str = ""
    plugin: str = ""
    code: str = ""
    sort: Sort = "since"
    limit: int = 100
    continue_: str = ""

    def __post_init__(self) -> None:
        """Reject unknown values."""
        _one_of("groupBy", self.group_by, get_args(GroupBy))
        _one_of("sort", self.sort, get_args(Sort))
        _one_of("place", self.place, ("", *get_args(Place)))


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidQuestion(f"{name}: {value!r} is unknown; use one of {', '.join(each for each in known if each)}")


def counts(state: State, viewer: Viewer) -> Steps[QueueCounts]:
    """Return how many visible pods are in each part of the queue; the tally has settled."""
    found = dict.fromkeys(("active", "backoff", "unschedulable", "gated"), 0)
    oldest: float | None = None
    for number, cell in enumerate(list(state.tally.cells.values())):
        if number % STEP == STEP - 1:
            yield
        if cell.kind.place in found and viewer.sees(cell.kind.own.namespace):
            found[cell.kind.place] += len(cell.members)
            since = cell.members.get((yield from cell.oldest()))
            if since is not None:
                oldest = since if oldest is None else min(oldest, since)
    return QueueCounts(
        **found,
        in_flight=state.queue.in_flight_counts()["pods"] if viewer.everywhere else 0,
        permit=sum(viewer.sees(each.pod.namespace) for each in state.waiting),
        oldest=None if oldest is None else when(oldest),
    )


def queue(state: State, viewer: Viewer, stamp: Stamp, question: QueueQuestion) -> Steps[answers.Queue]:
    """Return pending pods."""
    yield from state.tally.settle()
    if question.group_by:
        return (yield from _grouped(state, viewer, stamp, question))
    return (yield from _rows(state, viewer, stamp, question))


def _rows(state: State, viewer: Viewer, stamp: Stamp, question: QueueQuestion) -> Steps[answers.Queue]:
    behind = after(question.continue_, tuple[float, str])
    ranked = _ranked(state, _cells(state, viewer, question), question.sort)
    keys, total, more = yield from page_of_keys(ranked, question.limit, behind)
    words, ahead = Words(state, viewer), dict[str, int]()
    ready = sum(state.queue.pending()[:2])
    if ready <= MOST_POSITIONS:
        ahead = state.queue.ahead_of_all()
    items = []
    for number, (_, key) in enumerate(keys):
        if number % 10 == 9:
            yield
        queued = state.queue.find(key)
        if queued is not None:  # it may have left
            position = Position(ahead=ahead[key], total=ready) if key in ahead else None
            items.append(item_of(state, queued, words, position))
    last = continued(*keys[-1]) if more else ""
    return answers.Queue(
        at=stamp.at, revision=stamp.revision, source=stamp.source, total=total, items=items, continue_=last
    )


def _ranked(state: State, cells: Iterable[Cell], sort: Sort) -> Iterator[list[tuple[float, str]]]:
    """Yield the sort keys of the pods of cells, in parts."""
    sign = -1.0 if sort == "-since" else 1.0
    rank, find = _RANKS.get(sort), state.queue.find
    for cell in cells:
        members = list(cell.members.items())
        for start in range(0, len(members), A_PART):
            part = members[start : start + A_PART]
            if rank is None:
                yield [(sign * since, key) for key, since in part]
            else:
                yield [(rank(queued), key) for key, _ in part if (queued := find(key)) is not None]


def item_of(state: State, queued: QueuedPod, words: Words, position: Position | None = None) -> QueueItem:
    """Return a pending pod as a row."""
    pod, next_try = queued.pod, state.queue.next_try(queued)
    return QueueItem(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        profile=pod.scheduler_name,
        place=place_of(queued),
        since=when(queued.since),
        attempts=queued.attempts,
        priority=pod.priority,
        next_try=None if next_try is None else when(next_try),
        woken_by=queued.moved_by,
        position=position,
        gang=gang_name(pod),
        owner=owner_of(pod),
        reason=reason_of(state, queued, words),
        plugins=sorted(plugins_of(queued)),
        nominated_node=nominated_for(state, pod, words),
        requests=dict(pod.requests),
    )


def nominated_for(state: State, pod: Pod, words: Words) -> str:
    """Return the node that is nominated for a pod, if the viewer may see nodes."""
    return (state.queue.nominator.node_of(pod) or "") if words.names_nodes else ""


def place_of(queued: QueuedPod) -> Place:
    """Return which part of the queue a pod is in."""
    return "inFlight" if queued.place is None else queued.place.name  # type: ignore[return-value]


def position_of(state: State, queued: QueuedPod) -> Position | None:
    """Return the position of a pod among those that are active or in back-off."""
    found = state.queue.ahead_of(queued)
    return None if found is None else Position(ahead=found[0], total=found[1])


def gang_name(pod: Pod) -> str:
    """Return the name of a pod's gang; "" for none."""
    gang = gang_of(pod)
    return "" if gang is None else gang.name


# ---------------------------------------------------------------------------------------------------------- selecting

_RANKS: Mapping[Sort, Callable[[QueuedPod], float]] = {
    "priority": lambda queued: -queued.pod.priority,
    "attempts": lambda queued: -queued.attempts,
    "name": lambda _queued: 0.0,
}


def _cells(state: State, viewer: Viewer, question: QueueQuestion) -> Iterator[Cell]:
    for cell in list(state.tally.cells.values()):
        kind = cell.kind
        if (
            viewer.sees(kind.own.namespace)
            and question.namespace in ("", kind.own.namespace)
            and question.place in ("", kind.place)
            and question.profile in ("", kind.own.profile)
            and question.code in ("", kind.code)
            and (not question.plugin or question.plugin in kind.plugins)
        ):
            yield cell


# ------------------------------------------------------------------------------------------------------------ grouping


@dataclass(slots=True)
class _Group:
    example: str  # namespace/name
    oldest: float
    kind: Kind
    pods: int = 0


def _grouped(state: State, viewer: Viewer, stamp: Stamp, question: QueueQuestion) -> Steps[answers.Queue]:
    words, groups, total = Words(state, viewer), dict[str, _Group](), 0
    key = _keys(words)[question.group_by]
    for number, cell in enumerate(_cells(state, viewer, question)):
        if number % STEP == STEP - 1:
            yield
        total += len(cell.members)
        if question.group_by == "owner" and not cell.kind.own.owner:
            yield from _each_alone(cell, groups)
            continue
        example = yield from cell.oldest()
        if (since := cell.members.get(example)) is not None:
            _add(groups, key(cell.kind), _Group(example, since, cell.kind, len(cell.members)))
    ranked = sorted(groups.items(), key=lambda each: (-each[1].pods, each[0]))[: min(question.limit, MOST_GROUPS)]
    shown = [_shown(state, name, group, words) for name, group in ranked]
    return answers.Queue(at=stamp.at, revision=stamp.revision, source=stamp.source, total=total, groups=shown)


def _each_alone(cell: Cell, groups: dict[str, _Group]) -> Steps[None]:
    for number, (key, since) in enumerate(list(cell.members.items())):
        if number % STEP == STEP - 1:
            yield
        _add(groups, key, _Group(key, since, cell.kind, 1))


def _add(groups: dict[str, _Group], name: str, more: _Group) -> None:
    found = groups.setdefault(name, more)
    if found is more:
        return
    found.pods += more.pods
    if more.oldest < found.oldest:
        found.oldest, found.example, found.kind = more.oldest, more.example, more.kind


def _shown(state: State, name: str, group: _Group, words: Words) -> QueueGroup:
    queued, kind = state.queue.find(group.example), group.kind
    reason = None if queued is None else reason_of(state, queued, words)
    if reason is None and kind.text:
        reason = Reason(text=words(kind.text), code=kind.code, tier=kind.tier)
    return QueueGroup(key=name, pods=group.pods, oldest=when(group.oldest), example=group.example, reason=reason)


def _keys(words: Words) -> Mapping[GroupBy, Callable[[Kind], str]]:
    """Return the key of a kind for each way of grouping."""
    return {
        "reason": lambda kind: words(kind.text),
        "plugin": lambda kind: ", ".join(kind.plugins),
        "namespace": lambda kind: kind.own.namespace,
        "owner": lambda kind: f"{kind.own.namespace}/{kind.own.owner}",
        "shape": lambda kind: kind.own.shape,
        "profile": lambda kind: kind.own.profile,
        "gang": lambda kind: f"{kind.own.namespace}/{kind.own.gang}" if kind.own.gang else "",
    }
