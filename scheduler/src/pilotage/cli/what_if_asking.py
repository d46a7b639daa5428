"""Asks a what-if of a cluster or of files, and tells the answer."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from pilotage.cli.asking import opened, run
from pilotage.cli.cluster_flags import LIVE, Asked
from pilotage.cli.command import NOT_ALL_PLACED, BadInput, note
from pilotage.cli.formats import FORMATS
from pilotage.cli.what_if_flags import LOCAL, Where
from pilotage.cluster.kubectl.way import Way
from pilotage.offline.what_if.answer import WhatIfAnswer, as_data
from pilotage.offline.what_if.request import MOST_SECONDS, WhatIf, WrongRequest, read
from pilotage.views.answers import RemedyShown

PATIENT: dict[str, Any] = {"seconds": MOST_SECONDS}  # nobody else waits for what this program does


def request_of(base: dict[str, Any], changes: list[dict[str, Any]], **more: Any) -> WhatIf:
    """Return the request; BadInput says what is wrong with it."""
    given = {"kind": "WhatIf", "limits": PATIENT, **base, **{name: each for name, each in more.items() if each}}
    try:
        return read({**given, "changes": [*changes, *(base.get("changes") or [])]})
    except WrongRequest as error:
        raise BadInput(str(error)) from None


def tell(where: Where, request: WhatIf, output: str, text: Callable[[WhatIfAnswer], str]) -> None:
    """Ask, print the answer, and end as it says."""
    answer, data = _answered(where, request)
    for each in answer.assumptions[1:] if output == "table" else ():  # the first one is always the same
        note(f"assumed: {each}")
    click.echo(text(answer) if output == "table" else FORMATS[output](data))
    fits = answer.verdict == "fits" if answer.fill is None else answer.fill.copies > 0
    if not fits:
        raise SystemExit(NOT_ALL_PLACED)


def _answered(where: Where, request: WhatIf) -> tuple[WhatIfAnswer, dict[str, Any]]:
    if where.source == LIVE or where.source.startswith("https://"):
        return run(_by_scheduler(where, request))
    from pilotage.app.explaining import CannotExplain  # the engine takes half a second to import
    from pilotage.app.what_if_local import By, ask_cluster, ask_files
    from pilotage.cluster.credentials.access import find

    config = None if where.config is None else Path(where.config)
    by = By(config, _named(where.config_map), where.plugin_dirs)
    try:
        if where.source == LOCAL:
            told = asyncio.run(
                ask_cluster(
                    find(where.kubeconfig, context=where.context, user=where.as_user, groups=where.as_groups),
                    request,
                    by,
                )
            )
        else:
            told = ask_files([where.source], request, by)
    except (WrongRequest, CannotExplain) as error:
        raise BadInput(str(error)) from None
    for text in told.notes:
        note(text)
    return told.answer, as_data(told.answer)


async def _by_scheduler(where: Where, request: WhatIf) -> tuple[WhatIfAnswer, dict[str, Any]]:
    """Ask the scheduler, which decides with what it knows, and shows what the user may see."""
    way = Way(where.kubeconfig, where.context, where.as_user, where.as_groups)
    asked = Asked(way, where.namespace, source=where.source, release=where.release, token_from=where.token_from)
    if where.config is not None or where.config_map is not None:
        raise BadInput("the scheduler decides with its own configuration; leave --config and --config-map out")
    async with opened(asked) as here:
        assert here.scheduler is not None
        body = request.model_dump_json(by_alias=True, exclude_none=True).encode()
        data = await here.scheduler.post("/what-if", body)
    answer = msgspec.convert(data, WhatIfAnswer)
    waiting = [
        msgspec.structs.replace(each, remedies=msgspec.convert(each.remedies, list[RemedyShown]))
        for each in answer.waiting
    ]
    return msgspec.structs.replace(answer, waiting=waiting), data


def _named(config_map: str | None) -> tuple[str, str] | None:
    if config_map is None:
        return None
    namespace, slash, name = config_map.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise BadInput(f"--config-map {config_map}: write NAMESPACE/NAME")
    return namespace, name
