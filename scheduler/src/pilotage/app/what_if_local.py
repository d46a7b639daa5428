"""What-if without a running scheduler: on a cluster that is read once, or on files."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pilotage.app import Configured, configured, configured_with, plugins, profiles_configured
from pilotage.app.cluster_reading import ClusterReading
from pilotage.app.explaining import CannotExplain, Question, loaded, sources
from pilotage.app.informers import kinds_read
from pilotage.app.what_if import scheduling_of
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.resources import NODES, PODS, ApiResource, resources_of
from pilotage.kinds.every import KindTable
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.offline.manifests import read_manifests
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.request import WhatIf, scheduler_names
from pilotage.offline.what_if.run import exhaust, run
from pilotage.offline.what_if.world import Moment, Trouble, World, moment_in

AGENT = f"pilotage/{version('pilotage')} what-if"
LOCAL, FILE = "local", "file"


@dataclass(frozen=True)
class By:
    """The configuration that decides: from a file, from a ConfigMap, or the one that serves the pods."""

    config: Path | None = None
    config_map: tuple[str, str] | None = None
    plugin_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Told:
    """The answer, with notes."""

    answer: WhatIfAnswer
    notes: list[str] = field(default_factory=list)


def ask_files(names: Iterable[str], request: WhatIf, by: By) -> Told:
    """Answer about the cluster in files: manifests or dumps; BadManifests and others say what is wrong with them."""
    catalogue, added = plugins(by.plugin_folders)
    found = read_manifests(names, None, KindTable(catalogue.kinds()))
    if found.profiles and by.config is None:
        ready = profiles_configured(found.profiles, catalogue)
    else:
        ready = configured_with(by.config, catalogue, added)
    world = World(moment_in(found.objects), scheduling_of(lambda: ready))
    return Told(exhaust(run(request, world, source=FILE)), list(ready.loaded.warnings))


async def ask_cluster(access: Access, request: WhatIf, by: By) -> Told:
    """Read a cluster once and answer about it; CannotExplain says why not. Nothing is written."""
    api = ApiClient(access, agent=AGENT, timeout=60.0)
    try:
        world, notes = await _world(api, request, by)
    except ApiError as error:
        raise CannotExplain(f"the API server rejected the request: {error}") from error
    except (Unreachable, OutcomeUnknown) as error:
        raise CannotExplain(f"the API server at {access.server} does not respond: {error}") from error
    finally:
        await api.close()
    return Told(exhaust(run(request, world, source=LOCAL)), notes)


async def _world(api: ApiClient, request: WhatIf, by: By) -> tuple[World, list[str]]:
    reading = ClusterReading(api)
    pods = list((await reading.list(PODS)).objects.values())  # 1. all pods
    asked = scheduler_names(request)
    wanted = asked | {pod.scheduler_name for pod in pods}
    found, notes = await _configured(api, reading, by, asked, wanted)  # 2. what decides
    kinds: set[type[KubeObject]] = {PriorityClass}
    for each in found:
        kinds |= set(kinds_read(each.profiles()))
    objects, troubles = await _listed(reading, kinds)  # 3. the objects that plugins read
    if reading.missing:
        raise CannotExplain(reading.what_is_missing())
    notes += [f"{each.kind.__name__} {each.name} cannot be decoded: {each.reason}" for each in troubles]
    moment: Moment = replace(moment_in([*objects, *pods]), troubles=troubles)
    first, *others = found
    return World(moment, scheduling_of(lambda: first, others=others)), notes


async def _configured(
    api: ApiClient, reading: ClusterReading, by: By, asked: Collection[str], wanted: Collection[str]
) -> tuple[list[Configured], list[str]]:
    """Return the configurations that serve pods, and notes about schedulers without one."""
    question = Question("", "", by.config, by.config_map, by.plugin_folders)
    found: dict[str, Configured] = {}
    notes: list[str] = []
    for name in sorted(wanted, key=lambda each: (each not in asked, each)):
        if name in found:
            continue
        try:
            served = await _serving(api, reading, question, name)
        except CannotExplain as error:
            if name in asked:
                raise
            notes.append(str(error))
            continue
        found |= {each: ready for each, ready in served.items() if each not in found}
    once = {id(ready): ready for ready in found.values()}
    return list(once.values()) or [configured(None)], notes


async def _serving(api: ApiClient, reading: ClusterReading, question: Question, name: str) -> Mapping[str, Configured]:
    for source in await sources(api, reading, question, name):
        ready = loaded(source, question)
        names = [str(profile.scheduler_name) for profile in ready.loaded.config.profiles]
        if name in names or question.config is not None or question.config_map is not None:
            return dict.fromkeys(names, ready)
    return {}


async def _listed(
    reading: ClusterReading, kinds: Collection[type[KubeObject]]
) -> tuple[list[Node | Pod | KubeObject], list[Trouble]]:
    objects: list[Node | Pod | KubeObject] = []
    troubles: list[Trouble] = []
    resources: list[ApiResource[Any]] = [NODES, *resources_of(kinds)]
    for resource in resources:
        found = await reading.list(resource)
        objects += found.objects.values()
        if resource is not NODES:
            broken = (each.metadata for each in found.undecodable.values())
            reasons = [each.reason for each in found.undecodable.values()]
            troubles += [
                Trouble(resource.shape, each.namespace, each.name, reason)
                for each, reason in zip(broken, reasons, strict=True)
            ]
    return objects, troubles
