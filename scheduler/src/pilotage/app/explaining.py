"""Explains one pod of a live cluster; everything is read once, and nothing is written."""

import json
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import yaml

from pilotage.app import (
    Configured,
    configured,
    configured_with,
    plugins,
    profiles_configured,
    simulation,
    unit_configured,
)
from pilotage.app.caveats import caveats
from pilotage.app.cluster_reading import ClusterReading
from pilotage.app.informers import kinds_read
from pilotage.app.past_stays import past_stays
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable, no_response
from pilotage.cluster.watch.config_map import ConfigMap
from pilotage.cluster.watch.known_objects import KnownObjects
from pilotage.cluster.watch.resources import NODES, PODS, ApiResource, resource_of, resources_of
from pilotage.config.handshake import InvalidUnit, Unit, unit_in
from pilotage.config.sharing import with_victims
from pilotage.config.suggestions import did_you_mean
from pilotage.framework.api.stays import RemembersStays, Stay
from pilotage.kinds.every import KindTable
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.offline.manifests import read_manifests
from pilotage.offline.results import Result
from pilotage.offline.simulation import Simulation
from pilotage.profiles import Profile
from pilotage.scheduling.explanation import Explanation
from pilotage.scheduling.remedies import Remedies, WhyNot

AGENT = f"pilotage/{version('pilotage')} explain"
WRITTEN_BY_US = {"labelSelector": "app.kubernetes.io/name=pilotage,app.kubernetes.io/managed-by=pilotage-operator"}
LIST_THEM = "list configmaps"
NAME_IT = "name the configuration of that scheduler with --config FILE or --config-map NAMESPACE/NAME"


class CannotExplain(Exception):
    """A prerequisite is missing; the text says what to do."""


class LacksRights(CannotExplain):
    """Permissions are missing to read what the decision depends on; the text says which, and how to get them."""


@dataclass(frozen=True)
class Question:
    """The pod, and the configuration: a file, a ConfigMap, or the one that serves the pod."""

    namespace: str
    name: str
    config: Path | None = None
    config_map: tuple[str, str] | None = None
    plugin_folders: Sequence[str] = ()
    with_remedies: bool = True
    why_not: str = ""  # a node to compare the chosen one with

    @property
    def key(self) -> str:
        """Return namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Answer:
    """The decision that the scheduler would make now, its reasons, and notes."""

    pod: Pod
    result: Result
    explanation: Explanation | None
    notes: list[str]
    remedies: Remedies | None = None
    why_not: WhyNot | None = None


async def explain_live(access: Access, question: Question) -> Answer:
    """Read a cluster and schedule one of its pods in memory, as its scheduler would now."""
    async with asking(access, AGENT) as api:
        return await _explained(api, question)


@asynccontextmanager
async def asking(access: Access, agent: str) -> AsyncIterator[ApiClient]:
    """Give a client of an API server; CannotExplain if it refuses or does not respond."""
    api = ApiClient(access, agent=agent, timeout=60.0)
    try:
        yield api
    except ApiError as error:
        raise CannotExplain(f"the API server rejected the request: {error}") from error
    except (Unreachable, OutcomeUnknown) as error:
        raise CannotExplain(no_response(access.server, error)) from error
    finally:
        await api.close()


def explain_in_file(file: str, question: Question) -> Answer:
    """Schedule a pod of the cluster in a file: manifests, or the output of kubectl."""
    catalogue, added = plugins(question.plugin_folders)
    found = read_manifests([file], None, KindTable(catalogue.kinds()))
    if found.profiles and question.config is None:
        ready = profiles_configured(found.profiles, catalogue)
    else:
        ready = configured_with(question.config, catalogue, added)
    known: KnownObjects[Pod] = KnownObjects()
    known.objects = {each.key: each for each in found.pods}
    pod = _asked(question, known)
    profiles = ready.profiles()
    if pod.scheduler_name not in profiles:
        raise CannotExplain(f"no profile has the schedulerName {pod.scheduler_name} of the pod; name one with --config")
    with_remedies = question.with_remedies and not pod.node_name
    played = simulation(profiles, explain_pod=question.key, with_remedies=with_remedies)
    for each in found.objects:
        played.add(pod.on("") if each is pod else each)
    compared = played.why_not(pod, question.why_not) if question.why_not else None
    result = played.decide_only(pod.key)
    notes = list(caveats(ready, profiles[pod.scheduler_name], pod, result))
    return Answer(pod, result, played.explanation, notes, played.remedies, compared)


async def _explained(api: ApiClient, question: Question) -> Answer:
    reading = ClusterReading(api)
    pods = await reading.list(PODS)  # 1. the pod
    pod = await reading.pod(question.namespace, question.name) if reading.missing else _asked(question, pods)
    waits = pod is not None and not pod.node_name
    ready = await _configured(api, reading, question, pod)  # 2. the configuration that serves it
    profiles = ready.profiles()
    played = simulation(profiles, explain_pod=question.key, with_remedies=question.with_remedies and waits)
    notes = await _fill(reading, played, kinds_read(profiles))  # 3. the objects that its plugins read
    if question.with_remedies and waits:  # a higher priority may help
        classes = await reading.list(resource_of(PriorityClass), is_needed=False)
        for found in classes.objects.values():
            played.add(found)
    past = await _past(reading, profiles, pod)
    if reading.missing or pod is None:
        only_these = set(reading.missing) == {LIST_THEM}
        otherwise = f"; or {NAME_IT}, otherwise ConfigMaps must be readable" if only_these else ""
        raise LacksRights(reading.what_is_missing() + otherwise)
    for each in pods.objects.values():
        played.add(pod.on("") if each is pod else each)
    for plugin, stays in past:
        plugin.recall(pod, stays)
    compared = played.why_not(pod, question.why_not) if question.why_not else None
    result = played.decide_only(pod.key)  # 4. the decision
    notes += caveats(ready, profiles[pod.scheduler_name], pod, result)
    return Answer(pod, result, played.explanation, notes, played.remedies, compared)


async def _past(
    reading: ClusterReading, profiles: Mapping[str, Profile], pod: Pod | None
) -> list[tuple[RemembersStays, list[Stay]]]:
    """Return the plugins that remember earlier pods, and the stays that can still be found in the cluster."""
    if pod is None or pod.scheduler_name not in profiles:
        return []
    plugins = profiles[pod.scheduler_name].plugin_set.plugins().values()
    remembering = [plugin for plugin in plugins if isinstance(plugin, RemembersStays)]
    stays = await past_stays(reading, pod, time.time()) if remembering else []
    return [(plugin, stays) for plugin in remembering]


def _asked(question: Question, known: KnownObjects[Pod]) -> Pod:
    pods = known.objects
    pod, broken = pods.get(question.key), known.undecodable.get(question.key)
    if pod is not None:
        return pod
    if broken is not None:
        raise CannotExplain(f"the pod {question.key} cannot be decoded: {broken.reason}")
    near = [each.name for each in pods.values() if each.namespace == question.namespace]
    elsewhere = sorted(each.namespace for each in pods.values() if each.name == question.name)
    hint = did_you_mean(question.name, near) or (f"there is one in {', '.join(elsewhere)}" if elsewhere else "")
    look = f"see kubectl get pods -n {question.namespace}"
    raise CannotExplain(f"there is no pod {question.key}, or it has finished; {hint or look}")


async def _configured(api: ApiClient, reading: ClusterReading, question: Question, pod: Pod | None) -> Configured:
    """Return the configuration that serves a pod; the default one if it cannot be found without more permissions."""
    wanted, found = "" if pod is None else pod.scheduler_name, []
    for source in await sources(api, reading, question, wanted):
        ready = loaded(source, question)
        names = [str(profile.scheduler_name) for profile in ready.loaded.config.profiles]
        if wanted in names or pod is None:
            return ready
        found += names
    if reading.missing:
        return configured(None)
    served = f" (there are {', '.join(sorted(set(found)))})" if found else ""
    raise CannotExplain(
        f"pod {question.key} waits for the scheduler {wanted}, which no configuration here serves{served}; {NAME_IT}"
    )


def loaded(source: Path | Unit | None, question: Question) -> Configured:
    """Load a configuration with the plugins that the question names."""
    # A unit lists all of its plugins; for a file, those of the folders are added, as with `run`.
    if isinstance(source, Unit):
        return unit_configured(source, plugins(question.plugin_folders)[0])
    return configured(source, question.plugin_folders)


async def sources(api: ApiClient, reading: ClusterReading, question: Question, wanted: str) -> list[Path | Unit | None]:
    """Return the configurations that may contain the pod's profile, as files or units; None is the default one."""
    if question.config is not None:
        return [question.config]
    if question.config_map is not None:
        return await _named(api, reading, *question.config_map)
    is_default = wanted == DEFAULT_SCHEDULER
    try:
        written = await _written_by_operators(api)
    except ApiError as error:
        if not is_default and not reading.refused(error, LIST_THEM):
            raise
        written = []
    return [*(_alone(found, wanted) for found in written if wanted in found.profiles), *([None] if is_default else [])]


async def _named(api: ApiClient, reading: ClusterReading, namespace: str, name: str) -> list[Path | Unit | None]:
    try:
        body = await api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    except ApiError as error:
        if not reading.refused(error, "get configmaps"):
            raise
        return []
    try:
        return [unit_in(msgspec.json.decode(body, type=ConfigMap).data)]
    except InvalidUnit as error:
        raise CannotExplain(f"{namespace}/{name}: {error}") from error


@dataclass(frozen=True)
class _Written:
    """A configuration ConfigMap; the operator wrote it, or another user who set the operator's labels."""

    place: str
    unit: Unit
    document: dict[str, Any]

    @property
    def profiles(self) -> dict[str, Any]:
        """Return the profiles by the name of their scheduler."""
        return {str(each.get("schedulerName")): each for each in self.document["profiles"]}


async def _written_by_operators(api: ApiClient) -> list[_Written]:
    body = await api.get("/api/v1/configmaps", WRITTEN_BY_US)
    found = (_written(each) for each in msgspec.json.decode(body, type=_ConfigMaps).items)
    return [each for each in found if each is not None]


class _ConfigMaps(msgspec.Struct):
    items: list[ConfigMap]


def _written(found: ConfigMap) -> _Written | None:
    """Decode a ConfigMap; None if it is not in the operator's format."""
    try:
        unit = unit_in(found.data)
        document = yaml.safe_load(unit.configuration)
    except (InvalidUnit, yaml.YAMLError, RecursionError):
        return None
    profiles = document.get("profiles") if isinstance(document, dict) else None
    if not isinstance(profiles, list) or not all(isinstance(each, dict) for each in profiles):
        return None
    return _Written(f"{found.metadata.namespace}/{found.metadata.name}", unit, document)


def _alone(found: _Written, wanted: str) -> Unit:
    """Return the configuration with one profile: other profiles may be of other owners, or invalid for this release.

    Labels alone never cause code to run, since every user can write them: plugin files only run if the user names them.
    """
    if found.unit.files.get(wanted):
        paths = ", ".join(file.path for file in found.unit.files[wanted])
        raise CannotExplain(
            f"the profile {wanted} runs plugin files ({paths}), whose code would run here with your rights; if you "
            f"trust it, name the ConfigMap that contains it: --config-map {found.place}"
        )
    profile = with_victims(found.profiles[wanted], found.profiles.keys())
    return Unit(json.dumps({**found.document, "profiles": [profile]}))


async def _fill(reading: ClusterReading, played: Simulation, kinds: Collection[type[KubeObject]]) -> list[str]:
    """Load all nodes and the objects of these kinds; returns notes about them."""
    notes = []
    resources: list[ApiResource[Any]] = [NODES, *resources_of(kinds)]
    for resource in resources:
        found = await reading.list(resource)
        for each in found.objects.values():
            played.add(each)
        for broken in found.undecodable.values():
            identity = broken.metadata
            notes.append(f"{resource} {identity.name} cannot be decoded: {broken.reason}")
            played.note_trouble(resource.shape, identity.name, identity.namespace, broken.reason)
    return notes
