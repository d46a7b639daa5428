"""Asks a what-if of a cluster, of files or of a scheduler, and prints the answer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
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
from pilotage.cluster.credentials.access import context_namespace, find
from pilotage.cluster.kubectl.scheduler_client import SchedulerClient
from pilotage.offline.manifest_entries import documents_of, objects_in
from pilotage.offline.manifests import BadManifests
from pilotage.offline.what_if.answer import WhatIfAnswer, as_data
from pilotage.offline.what_if.request import MOST_SECONDS, WhatIf, WrongRequest, read
from pilotage.offline.what_if.run import title
from pilotage.views.answers import RemedyShown

PATIENT: dict[str, Any] = {"seconds": MOST_SECONDS}  # a scheduler has other work, and this program has none
Answered = tuple[WhatIfAnswer, dict[str, Any]]  # for people and for programs
Text = Callable[[WhatIfAnswer, str, bool], str]


def ask(
    question: Question, changes: Sequence[Change], asks: Sequence[str], text: Text, base: Change | None = None
) -> None:
    """Ask for the changes of the flags and these, print the answer, and end as it says.

    `base` is a whole request, which the changes come before; `asks` is what to answer, [] for what `base` asks.
    """
    request = request_of(base or {}, [*question.changes, *changes], profile=_profile_of(question), ask=asks)
    answer, data = run(_answered(question, request))
    if question.output == "table":
        for each in answer.assumptions[1:]:  # the first one is always the same
            note(f"assumed: {each}")
        click.echo(text(answer, _head(request), question.headers))
    else:
        click.echo(FORMATS[question.output](data))
    fits = answer.verdict == "fits" if answer.fill is None else answer.fill.copies > 0
    if not fits:
        raise SystemExit(NOT_ALL_PLACED)


def request_of(base: Change, changes: Sequence[Change], **more: Any) -> WhatIf:
    """Return the request; BadInput says what is wrong with it."""
    given = {"kind": "WhatIf", "limits": PATIENT, **base, **{name: each for name, each in more.items() if each}}
    try:
        return read({**given, "changes": [*changes, *(base.get("changes") or [])]})
    except WrongRequest as error:
        raise BadInput(str(error)) from None


def _head(request: WhatIf) -> str:
    """Return the title of the column with all changes; "" if there are only new pods."""
    others = [each for each in request.changes if each.add is None and each.add_pods is None]
    return title(others[0]) if len(others) == 1 and others[0].use_profile is None else "THEN" if others else ""


# ---------------------------------------------------------------------------------------------------- who answers


async def _answered(question: Question, request: WhatIf) -> Answered:
    """Ask this program if it may read the cluster, else the scheduler."""
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
    """Ask the scheduler because rights are missing here, unless somebody else is meant to decide."""
    asked = question.asked
    if asked.source != AUTO or question.configuration.is_named:
        raise BadInput(why)
    try:
        found = await _by_scheduler(replace(question, asked=replace(asked, source=LIVE)), request)
    except BadInput as error:
        raise BadInput(f"{why}; {error}") from None
    note(f"for a decision here {why}")
    return found


async def copied(asked: Asked, requests: Sequence[WhatIf], configuration: Configuration) -> Copy:
    """Read the cluster, or the files that stand for it; LacksRights if that is not allowed."""
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
    """Ask the scheduler, which decides with what it knows, and shows what the user may see."""
    if question.configuration.is_named:
        raise BadInput("the scheduler decides with its own configuration; leave --config and --config-map out")
    async with opened(question.asked) as here:
        assert here.scheduler is not None
        return await posted(here.scheduler, request)


async def posted(scheduler: SchedulerClient, request: WhatIf) -> Answered:
    """Send a question to a scheduler."""
    body = request.model_dump_json(by_alias=True, exclude_none=True).encode()
    data = await scheduler.post("/what-if", body)
    return _read(data), data


def _read(data: dict[str, Any]) -> WhatIfAnswer:
    answer = msgspec.convert(data, WhatIfAnswer)
    waiting = [
        msgspec.structs.replace(each, remedies=msgspec.convert(each.remedies, list[RemedyShown]))
        for each in answer.waiting
    ]
    return msgspec.structs.replace(answer, waiting=waiting)


# ------------------------------------------------------------------------------------------------------ manifests


def manifests_of(question: Question) -> list[dict[str, Any]]:
    """Return the manifests of -f; those that name no namespace are in that of -n, or of the context."""
    if not question.files:
        return []
    asked = question.asked
    namespace = asked.namespace
    if not namespace and not asked.is_file:
        namespace = context_namespace(asked.way.kubeconfig, context=asked.way.context)
    return [_in_namespace(each, namespace) for each in _manifests_in(question.files)]


def _manifests_in(names: Iterable[str]) -> list[dict[str, Any]]:
    problems: list[str] = []
    found = []
    for document in documents_of(names, problems):
        for manifest, place in objects_in(document):
            if isinstance(manifest, dict) and manifest.get("kind"):
                found.append(manifest)
            else:
                problems.append(f"{place}: an object is a map with apiVersion, kind and metadata")
    if problems:
        raise BadManifests(problems)
    return found


def _in_namespace(manifest: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _profile_of(question: Question) -> str | dict[str, Any] | None:
    """Return the profile that decides: a name, or the spec in a file."""
    named = question.profile
    if named is None or not (Path(named).is_file() or "/" in named or named.endswith((".yaml", ".yml", ".json"))):
        return named
    found = [each for each in _manifests_in([named]) if each.get("kind") == "SchedulerProfile"]
    if len(found) != 1:
        raise BadInput(f"--profile {named}: there must be one SchedulerProfile in it, not {len(found)}")
    spec = dict(found[0].get("spec") or {})
    spec.setdefault("schedulerName", (found[0].get("metadata") or {}).get("name") or "what-if")
    return spec
