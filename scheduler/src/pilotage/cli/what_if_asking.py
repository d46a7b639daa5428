"""Answers a what-if about a cluster or files, or has the scheduler answer it, and prints the answer."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import msgspec

from pilotage.app.explaining import CannotExplain, LacksRights
from pilotage.app.what_if_local import By, Copy, in_cluster, in_files
from pilotage.cli.asking import opened, run
from pilotage.cli.cluster_flags import AUTO, LIVE, Asked
from pilotage.cli.command import NOT_ALL_PLACED, BadInput, note
from pilotage.cli.configuration_flags import Configuration
from pilotage.cli.formats import FORMATS
from pilotage.cli.what_if_flags import Change, Question
from pilotage.cli.what_if_manifests import Written, profile_of
from pilotage.cluster.credentials.access import find
from pilotage.cluster.kubectl.refusals import Refused
from pilotage.cluster.kubectl.scheduler_client import SchedulerClient
from pilotage.offline.what_if.answer import WhatIfAnswer, as_data
from pilotage.offline.what_if.request import MOST_SECONDS, WhatIf, WrongRequest, read
from pilotage.offline.what_if.run import title
from pilotage.views.answers import RemedyShown

INVALID = 422  # the request names something that does not exist
PATIENT: dict[str, Any] = {"seconds": MOST_SECONDS}  # unlike a scheduler, this program has nothing else to do
NUMBERED = re.compile(r"^(?:manifests, document|manifest) (\d+)(?=\b)", re.MULTILINE)
Answered = tuple[WhatIfAnswer, dict[str, Any]]  # for people and for programs
Text = Callable[[WhatIfAnswer, str, bool], str]


@dataclass(frozen=True)
class Wanted:
    """What is asked in addition to the changes by flags."""

    asks: Sequence[str] = ()  # () for what `base` asks
    new: Sequence[Written] = ()
    copies: int | None = None
    changes: Sequence[Change] = ()
    base: Change = field(default_factory=dict)  # a whole request; its changes come last


def ask(question: Question, wanted: Wanted, text: Text) -> None:
    """Ask, print the answer, and exit with its code."""
    changes = [*question.changes, *wanted.changes]
    if wanted.new:
        copies = {} if wanted.copies is None else {"copies": wanted.copies}
        changes.append({"add": {"manifests": [each.manifest for each in wanted.new], **copies}})
    request = request_of(wanted.base, changes, profile=profile_of(question), ask=wanted.asks)
    try:
        answer, data = run(_answered(question, request))
    except BadInput as error:
        raise BadInput(_in_words_of_files(str(error), wanted)) from None
    if question.output == "table":
        for each in answer.assumptions[1:]:  # the first one is always the same
            note(f"assumed: {each}")
        click.echo(text(answer, _head(request), question.headers))
    else:
        click.echo(FORMATS[question.output](data))
    fits = answer.verdict == "fits" if answer.fill is None else answer.fill.copies > 0
    if not fits:
        raise SystemExit(NOT_ALL_PLACED)


def _in_words_of_files(text: str, wanted: Wanted) -> str:
    """Return an error message with the names of files, which a request does not contain."""
    if wanted.base:
        return text
    return NUMBERED.sub(lambda found: str(wanted.new[int(found[1]) - 1].place), text)


def request_of(base: Change, changes: Sequence[Change], **more: Any) -> WhatIf:
    """Return the request; BadInput says what is wrong with it."""
    given = {"kind": "WhatIf", "limits": PATIENT, **base, **{name: each for name, each in more.items() if each}}
    try:
        return read({**given, "changes": [*changes, *(base.get("changes") or [])]})
    except WrongRequest as error:
        raise BadInput(str(error)) from None


def _head(request: WhatIf) -> str:
    """Return the header of the column with all changes; "" if there are only new pods."""
    others = [each for each in request.changes if each.add is None and each.add_pods is None]
    return title(others[0]) if len(others) == 1 and others[0].use_profile is None else "THEN" if others else ""


# ---------------------------------------------------------------------------------------------------- who answers


async def _answered(question: Question, request: WhatIf) -> Answered:
    """Answer here if rights suffice, else ask the scheduler."""
    asked = question.asked
    if asked.source == LIVE or asked.is_address:
        return await _by_scheduler(question, request)
    try:
        copy = await copied(asked, [request], question.configuration)
    except LacksRights as error:
        return await _instead(question, request, str(error))
    for text in copy.notes:
        note(text)
    try:
        answer = copy.answer(request)
    except WrongRequest as error:
        raise BadInput(str(error)) from None
    return answer, as_data(answer)


async def _instead(question: Question, request: WhatIf, why: str) -> Answered:
    """Ask the scheduler because rights are missing, unless the user chose a source or a configuration."""
    asked = question.asked
    if asked.source != AUTO or question.configuration.is_named:
        raise BadInput(why)
    try:
        found = await _by_scheduler(replace(question, asked=replace(asked, source=LIVE)), request)
    except BadInput as error:
        raise BadInput(f"{why}; {error}") from None
    note(f"this program could not decide: {why}")
    return found


async def copied(asked: Asked, requests: Sequence[WhatIf], configuration: Configuration) -> Copy:
    """Read the cluster, or the files that replace it; LacksRights if rights are missing."""
    file = None if configuration.file is None else Path(configuration.file)
    by = By(file, configuration.config_map, configuration.plugin_folders)
    if asked.is_file:
        return in_files([asked.source], by)
    way = asked.way
    access = find(way.kubeconfig, context=way.context, user=way.user, groups=way.groups)
    try:
        return await in_cluster(access, requests, by)
    except LacksRights:
        raise
    except CannotExplain as error:
        raise BadInput(str(error)) from None


async def _by_scheduler(question: Question, request: WhatIf) -> Answered:
    """Ask the scheduler, which shows what the user may see."""
    if question.configuration.is_named:
        raise BadInput("the scheduler uses its own configuration; omit --config and --config-map")
    async with opened(question.asked) as here:
        assert here.scheduler is not None
        try:
            return await posted(here.scheduler, request)
        except Refused as error:
            if error.status != INVALID:
                raise
            raise BadInput(error.message) from None


async def posted(scheduler: SchedulerClient, request: WhatIf) -> Answered:
    """Send a question to a scheduler."""
    body = request.model_dump_json(by_alias=True, exclude_none=True).encode()
    try:
        data = await scheduler.post("/what-if", body)
    except Refused as error:
        if error.is_absent:
            text = f"the scheduler does not support what-if ({error.message}); upgrade it, or use --source local"
            raise BadInput(text) from None
        raise
    return _read(data), data


def _read(data: dict[str, Any]) -> WhatIfAnswer:
    answer = msgspec.convert(data, WhatIfAnswer)
    waiting = [
        msgspec.structs.replace(each, remedies=msgspec.convert(each.remedies, list[RemedyShown]))
        for each in answer.waiting
    ]
    return msgspec.structs.replace(answer, waiting=waiting)
