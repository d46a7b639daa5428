"""The changes of half a second, as server-sent events."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from pilotage.scheduling.decision_log import Decision
from pilotage.views.answers import Batch, DecisionShown, Hello, QueueChange, Resync
from pilotage.views.decisions import shown
from pilotage.views.queue import item_of
from pilotage.views.state import State, Steps
from pilotage.views.viewer import Viewer, Words

MOST_CHANGES = 200  # of a topic in one batch; beyond that clients reload their pages
A_STEP = 20  # rows
_encode = msgspec.json.Encoder().encode


class Audience(NamedTuple):
    """Streams that receive the same events."""

    viewer: Viewer
    topics: tuple[str, ...]
    namespace: str = ""  # "" for all that the viewer sees

    def sees(self, namespace: str) -> bool:
        """Return whether these streams include the pods of a namespace."""
        return self.namespace in ("", namespace) and self.viewer.sees(namespace)


@dataclass(frozen=True)
class Changes:
    """What changed between two revisions; None for a topic with too many changes."""

    before: int
    revision: int
    decisions: Sequence[tuple[int, Decision]] | None = ()
    waiting: Sequence[str] | None = ()  # pods that began to wait or were tried, by namespace/name
    left: Sequence[str] = ()
    nodes: Sequence[str] | None = ()
    profiles: Sequence[str] = ()
    told: dict[Audience, bytes] = field(default_factory=dict, compare=False)  # encoded

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changed."""
        return not any((self.decisions is None, self.waiting is None, self.nodes is None)) and not any(
            (self.decisions, self.waiting, self.left, self.nodes, self.profiles)
        )


def hello(revision: int, topics: Sequence[str]) -> bytes:
    """Return the first event of a stream."""
    return event("hello", revision, Hello(revision=revision, topics=list(topics)))


def resync(revision: int, topics: Sequence[str]) -> bytes:
    """Return the event that tells clients to reload their pages."""
    return event("resync", revision, Resync(revision=revision, topics=list(topics)))


def event(name: str, revision: int, content: msgspec.Struct) -> bytes:
    """Return a server-sent event: its JSON contains no line breaks."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (revision, name.encode(), _encode(content))


def told(state: State, audience: Audience, changes: Changes) -> Steps[bytes]:
    """Return changes as events, as far as an audience may see them."""
    words, parts, too_many = Words(state, audience.viewer), list[bytes](), list[str]()
    for topic in audience.topics:
        yield
        if getattr(changes, "waiting" if topic == "queue" else topic) is None:
            too_many.append(topic)
            continue
        batch = yield from _batch(state, audience, words, topic, changes)
        if batch is not None:
            yield
            parts.append(event(topic, changes.revision, batch))
    if too_many:
        parts.append(resync(changes.revision, too_many))
    made = changes.told[audience] = b"".join(parts)
    return made


def _batch(state: State, audience: Audience, words: Words, topic: str, changes: Changes) -> Steps[Batch | None]:
    revision = changes.revision
    match topic:
        case "decisions":
            rows = yield from _decisions(state, audience, words, changes)
            return Batch(revision=revision, decisions=rows) if rows else None
        case "queue":
            found = yield from _queue_changes(state, audience, words, changes)
            return Batch(revision=revision, queue=found) if found else None
        case "nodes":
            return Batch(revision=revision, nodes=list(changes.nodes or ())) if changes.nodes else None
        case _:
            return Batch(revision=revision, profiles=list(changes.profiles)) if changes.profiles else None


def _decisions(state: State, audience: Audience, words: Words, changes: Changes) -> Steps[list[DecisionShown]]:
    rows = []
    for number, decision in changes.decisions or ():
        if audience.sees(decision.namespace):
            rows.append(shown(state, number, decision, words))
            if len(rows) % A_STEP == 0:
                yield
    return rows


def _queue_changes(state: State, audience: Audience, words: Words, changes: Changes) -> Steps[list[QueueChange]]:
    found = []
    for key in changes.waiting or ():
        namespace, _, name = key.partition("/")
        queued = state.queue.find(key) if audience.sees(namespace) else None
        if queued is not None:
            item = item_of(state, queued, words)
            found.append(QueueChange(what="waits", namespace=namespace, name=name, item=item))
            if len(found) % A_STEP == 0:
                yield
    for key in changes.left:
        namespace, _, name = key.partition("/")
        if audience.sees(namespace):
            found.append(QueueChange(what="left", namespace=namespace, name=name))
    return found
