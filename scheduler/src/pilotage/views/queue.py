"""Who waits: rows in an order, or groups of pods that have something in common."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pilotage.model.gangs import gang_of
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.views import answers
from pilotage.views.answers import Place, Position, QueueCounts, QueueGroup, QueueItem
from pilotage.views.paging import InvalidQuestion, after, continued, page
from pilotage.views.reasons import code_of, main_code, plugins_of, reason_of, summary
from pilotage.views.state import SLICE, Stamp, State, Steps, owner_of, when
from pilotage.views.viewer import Viewer, Words

GroupBy = Literal["", "reason", "plugin", "namespace", "owner", "shape", "profile", "gang"]
Sort = Literal["since", "-since", "priority", "attempts", "name"]
MOST_POSITIONS = 1_000  # ready pods, beyond which rows do not tell their positions
MOST_GROUPS = 500


@dataclass(frozen=True)
class QueueQuestion:
    """Which pods, and how."""

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
        """Refuse what means nothing."""
        _one_of("groupBy", self.group_by, get_args(GroupBy))
        _one_of("sort", self.sort, get_args(Sort))
        _one_of("place", self.place, ("", *get_args(Place)))


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidQuestion(f"{name}: {value!r} is unknown; use one of {', '.join(each for each in known if each)}")


def counts(state: State, viewer: Viewer) -> Steps[QueueCounts]:
    """Return how many pods wait where, of those that may be seen."""
    found = dict.fromkeys(("active", "backoff", "unschedulable", "gated"), 0)
    oldest: float | None = None
    for number, queued in enumerate(state.queue):
        if number % SLICE == SLICE - 1:
            yield
        if queued.place is not None and viewer.sees(queued.pod.namespace):
            found[queued.place.name] += 1
            oldest = since_of(queued) if oldest is None else min(oldest, since_of(queued))
    return QueueCounts(
        **found,
        in_flight=state.queue.in_flight_counts()["pods"] if viewer.everywhere else 0,
        permit=sum(viewer.sees(each.pod.namespace) for each in state.waiting),
        oldest=None if oldest is None else when(oldest),
    )


def queue(state: State, viewer: Viewer, stamp: Stamp, question: QueueQuestion) -> Steps[answers.Queue]:
    """Return who waits."""
    if question.group_by:
        return (yield from _grouped(state, viewer, stamp, question))
    key = _SORTS[question.sort]
    behind = after(question.continue_, tuple[float, str])
    found, total, more = yield from page(
        _matching(state, viewer, question), lambda each: (key(each), each.key), question.limit, behind
    )
    words, has_positions = Words(state, viewer), sum(state.queue.pending()[:2]) <= MOST_POSITIONS
    items = []
    for number, queued in enumerate(found):
        if number % 25 == 24:
            yield
        items.append(item_of(state, queued, words, with_position=has_positions))
    last = continued(key(found[-1]), found[-1].key) if more else ""
    return answers.Queue(
        at=stamp.at, revision=stamp.revision, source=stamp.source, total=total, items=items, continue_=last
    )


def item_of(state: State, queued: QueuedPod, words: Words, *, with_position: bool = False) -> QueueItem:
    """Return a waiting pod as a row."""
    pod, next_try = queued.pod, state.queue.next_try(queued)
    return QueueItem(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        profile=pod.scheduler_name,
        place=place_of(queued),
        since=when(since_of(queued)),
        attempts=queued.attempts,
        priority=pod.priority,
        next_try=None if next_try is None else when(next_try),
        woken_by=queued.moved_by,
        position=position_of(state, queued) if with_position else None,
        gang=gang_name(pod),
        owner=owner_of(pod),
        reason=reason_of(state, queued, words),
        plugins=sorted(plugins_of(queued)),
        nominated_node=nominated_for(state, pod, words),
        requests=dict(pod.requests),
    )


def nominated_for(state: State, pod: Pod, words: Words) -> str:
    """Return the node that is nominated for a pod, to those who may know nodes."""
    return (state.queue.nominator.node_of(pod) or "") if words.names_nodes else ""


def place_of(queued: QueuedPod) -> Place:
    """Return where a waiting pod is."""
    return "inFlight" if queued.place is None else queued.place.name  # type: ignore[return-value]


def since_of(queued: QueuedPod) -> float:
    """Return since when a pod waits."""
    first = queued.initial_attempt_timestamp
    return queued.timestamp if first is None else first


def position_of(state: State, queued: QueuedPod) -> Position | None:
    """Return where among those that are ready, or soon will be, a pod is."""
    found = state.queue.ahead_of(queued)
    return None if found is None else Position(ahead=found[0], total=found[1])


def gang_name(pod: Pod) -> str:
    """Return the name of the gang that a pod names; "" for none."""
    gang = gang_of(pod)
    return "" if gang is None else gang.name


# ---------------------------------------------------------------------------------------------------------- selecting

_SORTS: Mapping[Sort, Callable[[QueuedPod], float]] = {
    "since": since_of,
    "-since": lambda queued: -since_of(queued),
    "priority": lambda queued: -queued.pod.priority,
    "attempts": lambda queued: -queued.attempts,
    "name": lambda _queued: 0,
}


def _matching(state: State, viewer: Viewer, question: QueueQuestion) -> Iterator[QueuedPod]:
    for queued in state.queue:
        pod = queued.pod
        if not viewer.sees(pod.namespace) or (question.namespace and pod.namespace != question.namespace):
            continue
        if question.place and place_of(queued) != question.place:
            continue
        if question.profile and pod.scheduler_name != question.profile:
            continue
        if question.plugin and question.plugin not in plugins_of(queued):
            continue
        if question.code and question.code != _code_of(state, queued):
            continue
        yield queued


def _code_of(state: State, queued: QueuedPod) -> str:
    if queued.gating_plugin is not None:
        return code_of(queued.gating_plugin)[0]
    said = state.log.words(queued.pod.uid)
    return "" if said is None else main_code(said[0], said[2], plugins_of(queued))[0]


# ------------------------------------------------------------------------------------------------------------ grouping


@dataclass(slots=True)
class _Group:
    example: QueuedPod
    pods: int = 0
    oldest: float = 0.0


def _grouped(state: State, viewer: Viewer, stamp: Stamp, question: QueueQuestion) -> Steps[answers.Queue]:
    words, groups, total = Words(state, viewer), dict[str, _Group](), 0
    key = _Keys(state, words).by(question.group_by)
    for number, queued in enumerate(_matching(state, viewer, question)):
        if number % SLICE == SLICE - 1:
            yield
        total += 1
        since = since_of(queued)
        found = groups.setdefault(key(queued), _Group(queued, oldest=since))
        found.pods += 1
        if since < found.oldest:
            found.oldest, found.example = since, queued
    ranked = sorted(groups.items(), key=lambda each: (-each[1].pods, each[0]))[: min(question.limit, MOST_GROUPS)]
    shown = [_shown(state, name, group, words) for name, group in ranked]
    return answers.Queue(at=stamp.at, revision=stamp.revision, source=stamp.source, total=total, groups=shown)


def _shown(state: State, name: str, group: _Group, words: Words) -> QueueGroup:
    reason = reason_of(state, group.example, words)
    return QueueGroup(key=name, pods=group.pods, oldest=when(group.oldest), example=group.example.key, reason=reason)


class _Keys:
    """What pods of one group have in common."""

    def __init__(self, state: State, words: Words) -> None:
        self._state, self._words = state, words
        self._summaries: dict[str, str] = {}

    def by(self, what: str) -> Callable[[QueuedPod], str]:
        """Return what tells a pod's group."""
        keys: dict[str, Callable[[QueuedPod], str]] = {
            "reason": self._reason,
            "plugin": lambda queued: ", ".join(sorted(plugins_of(queued))),
            "namespace": lambda queued: queued.pod.namespace,
            "owner": lambda queued: f"{queued.pod.namespace}/{owner_of(queued.pod) or queued.pod.name}",
            "shape": lambda queued: _shape(queued.pod),
            "profile": lambda queued: queued.pod.scheduler_name,
            "gang": lambda queued: f"{queued.pod.namespace}/{gang_name(queued.pod)}" if gang_name(queued.pod) else "",
        }
        return keys[what]

    def _reason(self, queued: QueuedPod) -> str:
        if queued.gating_plugin is not None:
            return self._words(queued.gating_reason)
        said = self._state.log.words(queued.pod.uid)
        if said is None:
            reason = reason_of(self._state, queued, self._words)
            return "" if reason is None else reason.text
        _, message, counted = said
        found = self._summaries.get(message)
        if found is None:
            found = self._summaries[message] = self._words(summary(message, counted, queued.key))
        return found


def _shape(pod: Pod) -> str:
    return ", ".join(f"{name}={amount}" for name, amount in sorted(pod.requests.items())) or "nothing"
