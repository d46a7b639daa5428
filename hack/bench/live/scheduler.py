"""The contestant of one round as a running program, with what it takes from the machine."""

import asyncio
import time
from typing import Any

from bench.live import objects
from bench.live.api import Api
from bench.live.bound_pods import BoundPods
from bench.live.contestants import Contestant
from bench.live.measure import Spent
from bench.live.objects import Write
from bench.live.programs import ControlPlane, Program
from localcluster.errors import Problem

SCHEDULER = "scheduler"
PLACE = "bench-first-pod"
READY_SECONDS = 120.0
# At rest: several looks in a row with next to nothing taken.
LOOK_SECONDS, LOOKS, NEXT_TO_NOTHING = 0.5, 3, 0.02
LONGEST_REST = 60.0


class Scheduler:
    """Started, stopped and looked at."""

    def __init__(
        self, contestant: Contestant, plane: ControlPlane, configuration: dict[str, Any], gates: dict[str, bool]
    ) -> None:
        self._contestant = contestant
        self._plane = plane
        self._configuration = configuration
        self._gates = gates
        self._program: Program | None = None
        self._before = Spent({})

    @property
    def is_running(self) -> bool:
        """Whether it was started."""
        return self._program is not None

    async def start(self) -> None:
        """Start the program."""
        self._program = self._contestant.start(self._plane, self._configuration, self._gates)

    async def stop(self) -> None:
        """End the program."""
        if self._program is not None:
            await asyncio.to_thread(self._program.end)
            self._program = None

    def check_alive(self) -> None:
        """A Problem if anything that is needed has ended."""
        for program in self._programs().values():
            program.check_alive()

    async def try_out(self, api: Api, bound: BoundPods) -> None:
        """Wait until the scheduler binds a pod, which proves that it is ready."""
        await api.ensure(objects.namespace(PLACE))
        pod = objects.creation(_pod())
        await api.ensure(pod)
        deadline = time.monotonic() + READY_SECONDS
        while not bound.count(PLACE):
            self.check_alive()
            if time.monotonic() > deadline:
                raise Problem(f"{self._contestant.name} bound no pod in its first {READY_SECONDS:.0f} s")
            await bound.news(LOOK_SECONDS)
        await api.send(Write("DELETE", f"{pod.path}/{pod.name}?gracePeriodSeconds=0", b""))

    def mark(self) -> None:
        """What is taken counts from here."""
        self._before = self._spent()

    async def rest(self) -> Spent:
        """Wait until it is done, events included; gives what was taken since the mark."""
        deadline = time.monotonic() + LONGEST_REST
        quiet, last = 0, self._spent()
        while quiet < LOOKS and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_SECONDS)
            now = self._spent()
            quiet = quiet + 1 if now.since(last).seconds[SCHEDULER] <= NEXT_TO_NOTHING else 0
            last = now
        return last.since(self._before)

    def peak_memory(self) -> int:
        """The most bytes that it has had."""
        return self._programs()[SCHEDULER].peak_memory()

    def _programs(self) -> dict[str, Program]:
        own = {SCHEDULER: self._program} if self._program else {}
        return own | {program.name: program for program in self._plane.programs}

    def _spent(self) -> Spent:
        return Spent({name: program.cpu_seconds() for name, program in self._programs().items()})


def _pod() -> dict[str, Any]:
    metadata = {"name": "first", "namespace": PLACE}
    spec = {"containers": [{"name": "pause", "image": "pause"}], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
