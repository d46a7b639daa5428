"""What-if in a running scheduler: on copies of its cluster, queue and profiles; nothing is touched."""

from collections.abc import Callable, Generator

from pilotage.app import Configured
from pilotage.app.core import Core
from pilotage.app.handles import NO_SUBSCRIPTIONS
from pilotage.app.what_if import Collected, LoadOfNow, scheduling_of
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.request import WhatIf, WrongRequest
from pilotage.offline.what_if.run import run
from pilotage.offline.what_if.world import moment_of
from pilotage.offline.what_if.worlds import KEPT_FOR, Worlds

__all__ = ["KEPT_FOR", "WhatIfs"]


class WhatIfs:
    """Answers what-ifs about a running scheduler, slice by slice."""

    def __init__(
        self,
        core: Core,
        ready: Callable[[], Configured],
        load: Collected | None = None,
        profile_hash: Callable[[], str] = lambda: "",
    ) -> None:
        # A request may contain a profile with any address: a what-if does not request figures.
        figures = NO_SUBSCRIPTIONS if load is None else LoadOfNow(load)
        self._worlds = Worlds(
            lambda: moment_of(core.cache, core.queue), lambda: scheduling_of(ready, figures, profile_hash())
        )

    def steps(self, request: WhatIf, revision: int = 0) -> Generator[None, None, WhatIfAnswer]:
        """Answer in slices, between which other work gets its turn; Busy, TooLarge, WrongRequest.

        The caller calls `tick` KEPT_FOR seconds later, which drops the copy.
        """
        world, whole = self._worlds.take(), False
        try:
            answer = yield from run(request, world, source="live", revision=revision)
            whole = True
            return answer
        except WrongRequest:
            whole = True  # a copy costs more than to find that out
            raise
        finally:
            self._worlds.give_back(world, whole=whole)

    def tick(self) -> None:
        """Drop copies that were not used in time."""
        self._worlds.tick()
