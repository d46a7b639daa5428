"""Objects that are created, or created and deleted, beside what is measured."""

import asyncio
import itertools
import time

from bench.live import objects
from bench.live.api import Api
from bench.live.objects import Write
from bench.live.operations import Churn

GOOD = (200, 201, 202, 404, 409)  # what comes and goes may have gone already


async def churn(api: Api, step: Churn, place: str, position: int) -> None:
    """Go on until cancelled, or until as many came as the step wants."""
    start = time.monotonic()
    for turn in itertools.count():
        if step.number and not step.recreate and turn >= step.number:
            return
        await asyncio.sleep(max(0.0, start + (turn + 1) * step.seconds - time.monotonic()))
        for index in range(len(step.templates)):
            await api.send(_request(step, place, position, index, turn), accepted=GOOD)


def _request(step: Churn, place: str, position: int, index: int, turn: int) -> Write:
    """What happens to one template in one turn: its object is created, or the one of some turns ago is deleted."""
    lap, slot = divmod(turn, step.number) if step.recreate else (0, turn)
    write = objects.anything(step.templates[index], place, turn, 1, f"{position}-{index}-{slot}-{lap // 2}")
    if step.recreate and lap % 2:
        return Write("DELETE", f"{write.path}/{write.name}", b"")
    return write
