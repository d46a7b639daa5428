"""What has changed in half a second, for whoever follows."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from pilotage.scheduling.decision_log import Decision
from pilotage.views.answers import Batch, Hello, QueueChange, Resync
from pilotage.views.decisions import shown
from pilotage.views.queue import item_of
from pilotage.views.state import State, Steps
from pilotage.views.viewer import Viewer, Words

MOST_CHANGES = 200  # of a topic in one batch; beyond that the client asks for its page again
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Changes:
    """What has changed between two revisions; None where it is too much to tell."""

    before: int
    revision: int
    decisions: Sequence[tuple[int, Decision]] | None = ()
    waiting: Sequence[str] | None = ()  # pods that began to wait or were tried, by namespace/name
    left: Sequence[str] = ()
    nodes: Sequence[str] | None = ()
    profiles: Sequence[str] = ()
    told: dict[tuple[Viewer, tuple[str, ...]], bytes] = field(default_factory=dict, compare=False)

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to tell."""
        return not any((self.decisions is None, self.waiting is None, self.nodes is None)) and not any(
            (self.decisions, self.waiting, self.left, self.nodes, self.profiles)
        )


def hello(revision: int, topics: Sequence[str]) -> bytes:
    """Return the first event of a stream."""
    return event("hello", revision, Hello(revision=revision, topics=list(topics)))


def resync(revision: int, topics: Sequence[str]) -> bytes:
    """Return that a client should ask for its pages again."""
    return event("resync", revision, Resync(revision=revision, topics=list(topics)))


def event(name: str, revision: int, content: msgspec.Struct) -> bytes:
    """Return a server-sent event: JSON has no line ends of its own."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (revision, name.encode(), _encode(content))


def told(state: State, viewer: Viewer, topics: tuple[str, ...], changes: Changes) -> Steps[bytes]:
    """Return changes as events, as far as a viewer may see them; made once for all who may see the same."""
    known = changes.told.get((viewer, topics))
    if known is not None:
        return known
    words, parts, too_many = Words(state, viewer), list[bytes](), list[str]()
    revision = changes.revision
    for topic in topics:
        yield
        if getattr(changes, "waiting" if topic == "queue" else topic) is None:
            too_many.append(topic)
            continue
        batch = _batch(state, viewer, words, topic, changes)
        if batch is not None:
            parts.append(event(topic, revision, batch))
    if too_many:
        parts.append(resync(revision, too_many))
    made = changes.told[viewer, topics] = b"".join(parts)
    return made


def _batch(state: State, viewer: Viewer, words: Words, topic: str, changes: Changes) -> Batch | None:
    match topic:
        case "decisions":
            rows = [shown(state, n, each, words) for n, each in changes.decisions or () if viewer.sees(each.namespace)]
            return Batch(revision=changes.revision, decisions=rows) if rows else None
        case "queue":
            found = _queue_changes(state, viewer, words, changes)
            return Batch(revision=changes.revision, queue=found) if found else None
        case "nodes":
            return Batch(revision=changes.revision, nodes=list(changes.nodes or ())) if changes.nodes else None
        case _:
            return Batch(revision=changes.revision, profiles=list(changes.profiles)) if changes.profiles else None


def _queue_changes(state: State, viewer: Viewer, words: Words, changes: Changes) -> list[QueueChange]:
    found = []
    for key in changes.waiting or ():
        namespace, _, name = key.partition("/")
        queued = state.queue.find(key) if viewer.sees(namespace) else None
        if queued is not None:
            item = item_of(state, queued, words)
            found.append(QueueChange(what="waits", namespace=namespace, name=name, item=item))
    for key in changes.left:
        namespace, _, name = key.partition("/")
        if viewer.sees(namespace):
            found.append(QueueChange(what="left", namespace=namespace, name=name))
    return found
