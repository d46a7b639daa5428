"""What-if in a running scheduler: on copies of its cluster, queue and profiles; nothing is touched."""

from collections.abc import Callable, Generator
from dataclasses import replace

from pilotage.app import Configured
from pilotage.app.core import Core
from pilotage.app.handles import NO_SUBSCRIPTIONS
from pilotage.app.what_if import Collected, LoadOfNow, scheduling_of
from pilotage.kinds.devices import ResourceClaim
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim
from pilotage.model.pod import Pod
from pilotage.offline.simulation import Simulation
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.pace import OutOfTime, Pace
from pilotage.offline.what_if.request import WhatIf, WrongRequest
from pilotage.offline.what_if.run import run
from pilotage.offline.what_if.world import TooLarge, World, moment_of
from pilotage.offline.what_if.worlds import KEPT_FOR, Busy, Worlds
from pilotage.plugins.devices.dynamic_resources.dynamic_resources import DynamicResources
from pilotage.plugins.volumes.volume_binding.volume_binding import VolumeBinding
from pilotage.scheduling.remedies import Gate, Remedies, Siblings

__all__ = ["KEPT_FOR", "WhatIfs"]

SECONDS = 10.0  # the time limit of a search for a gang


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
            lambda: moment_of(core.cache, core.queue, _reserved_in(core)),
            lambda: scheduling_of(ready, figures, profile_hash()),
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
            whole = True  # finding that out costs less than another copy
            raise
        finally:
            self._worlds.give_back(world, whole=whole)

    def remedies(self, pod: Pod, gang: Siblings, gate: Gate | None = None) -> Generator[None, None, Remedies | None]:
        """Look for what would place a gang, in a copy of the cluster; None if there is no copy, or no time left."""
        try:
            world, whole = self._worlds.take(), False
        except (Busy, TooLarge):
            return None
        try:
            found = yield from _remedies(world, pod, gang, gate)
            whole = True
            return found
        except OutOfTime:
            return None
        finally:
            self._worlds.give_back(world, whole=whole)

    def tick(self) -> None:
        """Drop copies that were not used in time."""
        self._worlds.tick()


def _reserved_in(core: Core) -> Callable[[KubeObject], KubeObject]:
    """Return how the profiles that run see an object, whose reservations their copies do not know."""
    plugins = [each for engine in core.engines.values() for each in engine.runner.plugin_set.reserve]
    binding = [each for each in plugins if isinstance(each, VolumeBinding | DynamicResources)]

    def reserved(found: KubeObject) -> KubeObject:
        if not isinstance(found, PersistentVolume | PersistentVolumeClaim | ResourceClaim):
            return found
        return next((changed for each in binding if (changed := each.as_reserved(found)) is not found), found)

    return reserved


def _remedies(world: World, pod: Pod, gang: Siblings, gate: Gate | None) -> Generator[None, None, Remedies | None]:
    pace = Pace(SECONDS)
    yield from pace.through(world.steps())
    yield from pace.rest()
    simulation: Simulation = world.scheduling.simulation(world.cache, {}, True)
    try:
        yield from pace.through(world.cache.catch_up())
        engine = simulation.engines.get(pod.scheduler_name)
        if engine is None or engine.gangs is None:
            return None
        own = {each.uid for each in gang.pods()}
        for each in world.moment.waiting:
            if each.nominated_node and each.uid not in own:
                simulation.add(each)  # its nominated node is reserved for it
            yield from pace.turn()
        return (yield from pace.finish(simulation.search(pod, replace(gang, plugin=engine.gangs), gate)))
    finally:
        simulation.close()
