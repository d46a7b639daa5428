"""The cost of each answer while the scheduler is idle, without shared answers."""

import asyncio
from dataclasses import dataclass, field

from bench.viewers.rounds import PAGES, percentile
from bench.viewers.slices import Slices
from bench.viewers.stage import ADMIN, Stage
from pilotage.model.users import User
from pilotage.telemetry.pages import Answer, Question

TIMES = 30
USER = User(ADMIN, groups=("system:authenticated",))
# Milliseconds of CPU that the 99th percentile may take.
BOUNDS = {"/queue?groupBy=reason": 5.0, "/queue?limit=100": 10.0, PAGES[-1]: 10.0, "/nodes?columns=cpu,memory": 20.0}


@dataclass
class Cost:
    """The cost of one path."""

    path: str
    first: float = 0.0  # seconds of the first answer, for which more has to be prepared
    seconds: list[float] = field(default_factory=list)
    longest: float = 0.0
    size: int = 0

    @property
    def p50(self) -> float:
        """Milliseconds."""
        return 1e3 * percentile(self.seconds, 0.5)

    @property
    def p99(self) -> float:
        """Milliseconds."""
        return 1e3 * percentile(self.seconds, 0.99)

    @property
    def is_kept(self) -> bool:
        """Whether the bound is, if there is one."""
        return self.p99 <= BOUNDS.get(self.path, float("inf"))


async def costs(stage: Stage, watch: Slices, times: int = TIMES) -> list[Cost]:
    """Ask for each page several times."""
    return [await _cost(stage, watch, path, times) for path in PAGES]


async def _cost(stage: Stage, watch: Slices, path: str, times: int) -> Cost:
    found, api = Cost(path), stage.api.api
    for number in range(times + 1):
        api.shared.forget()
        await asyncio.sleep(0.12)  # a search for remedies is not repeated at once
        watch.reset()
        answer = await api.answer(_question(path))
        if not isinstance(answer, Answer) or answer.status != 200:
            raise RuntimeError(f"{path}: {answer}")
        if number == 0:
            found.first = watch.of_api()
            continue
        found.seconds.append(watch.of_api())
        found.longest = max(found.longest, watch.longest_handler())
        found.size = len(answer.body)
    return found


def _question(path: str) -> Question:
    path, _, query = path.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return Question("GET", "/pilotage/v1" + path, {name: [value] for name, _, value in pairs}, user=USER)
