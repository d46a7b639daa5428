"""`pilotage top shapes`: a what-if for each frequent shape of pods."""

from collections.abc import Awaitable, Callable
from typing import Any

from pilotage.app.explaining import LacksRights
from pilotage.app.what_if_local import Copy
from pilotage.cli.asking import Here, cluster, opened, run
from pilotage.cli.cluster_flags import LOCAL, Asked
from pilotage.cli.command import BadInput, note
from pilotage.cli.configuration_flags import Configuration
from pilotage.cli.what_if_asking import copied, posted, request_of
from pilotage.cluster.kubectl.refusals import FORBIDDEN, Refused
from pilotage.cluster.kubectl.scheduler_client import SchedulerClient
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.request import WhatIf, WrongRequest
from pilotage.offline.what_if.seen_shapes import SeenShape, seen_shapes
from pilotage.views.nodes import unit_of

WRONG = (400, 422)  # the scheduler does not serve such pods

Answer = Callable[[WhatIf], Awaitable[WhatIfAnswer]]


def top_shapes(asked: Asked, most: int) -> dict[str, Any]:
    """Return the most frequent shapes of pods of a namespace, or of all, and how many more of each fit."""
    return run(_top_shapes(asked, most))


async def _top_shapes(asked: Asked, most: int) -> dict[str, Any]:
    if asked.is_file:
        async with cluster(asked) as documents:
            found = seen_shapes(await Here(asked, documents).pods(), most)
        return await _counted(found, await _by_copy(asked), "file")
    async with opened(asked, by_itself="nodes and pods at the API server") as here:
        found = seen_shapes(await here.pods(), most)
        if here.scheduler is not None:
            try:
                return await _counted(found, _by_scheduler(here.scheduler), "live")
            except Refused as error:
                if asked.source != "auto" or error.status != FORBIDDEN:
                    raise
                note(f"source: nodes and pods at the API server; the scheduler refused: {error.message}")
    return await _counted(found, await _by_copy(asked), LOCAL)


async def _by_copy(asked: Asked) -> Answer:
    try:
        copy: Copy = await copied(asked, [], Configuration())
    except LacksRights as error:
        raise BadInput(str(error)) from None
    for text in copy.notes:
        note(text)

    async def answer(request: WhatIf) -> WhatIfAnswer:
        return copy.answer(request)

    return answer


def _by_scheduler(scheduler: SchedulerClient) -> Answer:
    async def answer(request: WhatIf) -> WhatIfAnswer:
        try:
            return (await posted(scheduler, request))[0]
        except Refused as error:
            if error.status not in WRONG:
                raise
            raise WrongRequest(error.message) from None

    return answer


async def _counted(found: list[SeenShape], answer: Answer, source: str) -> dict[str, Any]:
    items, left_out = [], dict[str, list[SeenShape]]()
    for shape in found:
        request = request_of({}, [{"add": {"manifests": [shape.manifest]}}], ask=["fill", "others"])
        try:
            told = await answer(request)
        except WrongRequest as error:
            why = " ".join(str(error).split()).removeprefix(f"Pod {shape.example}: ")
            left_out.setdefault(why, []).append(shape)
            continue
        items.append(_item(shape, told))
    for why, shapes in left_out.items():
        many = f" ({sum(each.pods for each in shapes)} pods of {len(shapes)} shapes)" if len(shapes) > 1 else ""
        note(f"pods like {shapes[0].example}{many} are not counted: {why}")
    units = {name: unit_of(name) for each in items for name in each["requests"]}
    return {"kind": "TopShapes", "source": source, "units": units, "items": items}


def _item(shape: SeenShape, told: WhatIfAnswer) -> dict[str, Any]:
    assert told.fill is not None or told.verdict == "unknown"
    return {
        "namespace": shape.pod.namespace,
        "example": shape.example,
        "schedulerName": shape.pod.scheduler_name,
        "pods": shape.pods,
        "waiting": shape.waiting,
        "requests": dict(shape.pod.requests),
        "constraints": shape.constraints,
        "copies": None if told.fill is None else told.fill.copies,
        "stoppedBy": told.summary if told.fill is None else told.fill.stopped_by,
        "message": "" if told.fill is None else told.fill.message,
        "byNode": {} if told.fill is None else dict(told.fill.by_node),
        "where": "" if told.fill is None else told.fill.where,
    }
