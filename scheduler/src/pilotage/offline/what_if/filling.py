"""How many copies fit: they are placed one after the other until one does not fit, without evictions."""

from collections import Counter
from collections.abc import Generator, Sequence

from pilotage.offline.results import Result
from pilotage.offline.what_if.answer import Fill
from pilotage.offline.what_if.new_pods import Copies
from pilotage.offline.what_if.play import Added, Play
from pilotage.offline.what_if.request import Change
from pilotage.offline.what_if.wording import stopped_by, where

LARGEST_BATCH = 256  # pods of one kind, which are decided in their order
MOST_NODES = 200  # that are listed


def filled(
    name: str, play: Play, changes: Sequence[Change], new: Sequence[Change], most: int
) -> Generator[None, None, Fill]:
    """Place as many copies as fit after some changes, and return what stops the next one."""
    yield from play.begin()
    for change in changes:
        yield from play.change(change)
    yield from play.settle()
    filling = _Filling(play, [play.read(change) for change in new], most)
    stopped = yield from filling.until_one_waits()
    nodes = filling.nodes
    shown = dict(nodes.most_common(MOST_NODES))
    message = "" if stopped is None else stopped.message
    because = f"the limit of {most} pods" if stopped is None else stopped_by(stopped.message)
    return Fill(name, filling.copies, because, message, shown, where(nodes))


class _Filling:
    def __init__(self, play: Play, added: Sequence[Added], most: int) -> None:
        self._play = play
        self._added = [(each, play.copies_of(each)) for each in added]
        self._most = most
        self._pods = 0
        self.copies = 0
        self.nodes: Counter[str] = Counter()

    def until_one_waits(self) -> Generator[None, None, Result | None]:
        """Return the first pod that does not fit; None at the limit of copies."""
        kinds = sum(len(each.new.kinds) for each, _ in self._added)
        batch = 1
        while True:
            copies = [self._copy() for _ in range(batch)]
            pods = sum(map(len, copies))
            if not pods:
                return None
            yield from self._play.settle()
            results = self._play.simulation.results
            for copy in copies:
                waits = next((results[key] for key in copy if results[key].node is None), None)
                if waits is not None:
                    return waits
                self.copies += 1
                self._pods += len(copy)
                self.nodes.update(str(results[key].node) for key in copy)
                if self._pods + len(copy) > self._most:
                    return None
            # Pods of several kinds are decided by their priority, and the last one alone shows what stops it.
            batch = min(2 * batch, LARGEST_BATCH // max(1, pods // batch)) if kinds == 1 else 1
            batch = max(1, min(batch, (self._most - self._pods) // max(1, pods // len(copies))))

    def _copy(self) -> list[str]:
        """Let the pods of one more copy appear; returns them as namespace/name."""
        found = []
        for added, copies in self._added:
            found += self._arrived(added, copies)
        return found

    def _arrived(self, added: Added, copies: Copies) -> list[str]:
        arrivals = list(copies.next())
        for arrival in arrivals:
            self._play.arrive(added, arrival)
        return [arrival.pod.key for arrival in arrivals]
