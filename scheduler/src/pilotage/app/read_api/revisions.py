"""A number for each state that somebody could see, larger than all before it, also those of other processes."""

import time

from pilotage.views.state import State

_EACH_SECOND = 1 << 20  # states that there can be in a second without ever being as large as a later process's first


class Revisions:
    """Looks at the versions of all parts of a state."""

    def __init__(self, state: State, began: float | None = None) -> None:
        self._state = state
        self._number = int(time.time() if began is None else began) * _EACH_SECOND
        self._seen: tuple[object, ...] = ()

    def now(self) -> int:
        """Return the number of what is there now."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            self._number += 1
        return self._number

    def _look(self) -> tuple[object, ...]:
        state, nodes = self._state, self._state.cache.nodes()
        queue, log = state.queue, state.log
        waiting = len(queue), queue.cycles, queue.incoming.total(), len(state.waiting)
        decided = log.count, log.bound.total(), log.hash
        return *waiting, *decided, nodes.pods_version, nodes.static_version, state.cache.objects.changes
