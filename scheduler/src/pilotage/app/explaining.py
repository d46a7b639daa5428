"""One pod of a live cluster, explained: everything is read once, and nothing is written."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from pilotage.app import Configured, configured, plugins, simulation, unit_configured
from pilotage.app.watching import kinds_read
from pilotage.cluster.access import Access
from pilotage.cluster.api_client import ApiClient
from pilotage.cluster.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.config_map import ConfigMap
from pilotage.cluster.known_objects import KnownObjects
from pilotage.cluster.listing import Lister
from pilotage.cluster.resources import NODES, PODS, RESOURCES, ApiResource, T
from pilotage.cluster.watch_events import EventReader
from pilotage.config.handshake import CONFIGURATION, InvalidUnit, Unit, unit_in
from pilotage.config.suggestions import did_you_mean
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.scheduling.explanation import Explanation
from pilotage.scheduling.simulation import Result, Simulation

AGENT = f"pilotage/{version('pilotage')} explain"
FROM_MEMORY = "0"  # as the API server has it: quick, and as fresh as any watch
WRITTEN_BY_US = {"labelSelector": "app.kubernetes.io/name=pilotage,app.kubernetes.io/managed-by=pilotage-operator"}
NOT_SERVED = 404
NAME_IT = "name the configuration of that scheduler with --config FILE or --config-map NAMESPACE/NAME"


class CannotExplain(Exception):
    """Something that is needed is not to be had; the text says what to do."""


@dataclass(frozen=True)
class Question:
    """Which pod, and whose configuration: a file, a ConfigMap, or whatever serves the pod."""

    namespace: str
    name: str
    config: Path | None = None
    config_map: tuple[str, str] | None = None
    plugin_folders: Sequence[str] = ()

    @property
    def key(self) -> str:
        """Return namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Answer:
    """What would become of the pod now, why, and what there is to say about that."""

    pod: Pod
    result: Result
    explanation: Explanation | None
    notes: list[str]


async def explain_live(access: Access, question: Question) -> Answer:
    """Read a cluster and decide about one of its pods in memory, as its scheduler would now."""
    api = ApiClient(access, agent=AGENT, timeout=60.0)
    try:
        pods = await _listed(api, PODS)  # 1. which pod
        pod = _asked(question, pods)
        ready = await _configured(api, question, pod)  # 2. who decides about it
        profiles = ready.profiles()
        played = simulation(profiles, explain_pod=pod.key)
        notes = await _fill(api, played, kinds_read(profiles))  # 3. what they look at
    except ApiError as error:
        raise CannotExplain(f"the API server refuses: {error}") from error
    except (Unreachable, OutcomeUnknown) as error:
        raise CannotExplain(f"the API server at {access.server} does not answer: {error}") from error
    finally:
        await api.close()
    if ready.loaded.config.extenders:
        notes.append("the configuration's extenders are not asked")
    for each in pods.objects.values():
        played.add(pod.on("") if each is pod else each)
    return Answer(pod, played.decide_only(pod.key), played.explanation, notes)  # 4. what they say


def _asked(question: Question, known: KnownObjects[Pod]) -> Pod:
    pods = known.objects
    pod, broken = pods.get(question.key), known.undecodable.get(question.key)
    if pod is not None:
        return pod
    if broken is not None:
        raise CannotExplain(f"the pod {question.key} cannot be understood: {broken.reason}")
    near = [each.name for each in pods.values() if each.namespace == question.namespace]
    elsewhere = sorted(each.namespace for each in pods.values() if each.name == question.name)
    hint = did_you_mean(question.name, near) or (f"there is one in {', '.join(elsewhere)}" if elsewhere else "")
    raise CannotExplain(f"there is no pod {question.key}, or it has ended" + (f"; {hint}" if hint else ""))


async def _configured(api: ApiClient, question: Question, pod: Pod) -> Configured:
    wanted, found = pod.scheduler_name, []
    for source in await _sources(api, question, wanted):
        # A unit names all of its plugins; a file gets those of the folders, too, as with `run`.
        if isinstance(source, Unit):
            ready = unit_configured(source, plugins(question.plugin_folders)[0])
        else:
            ready = configured(source, question.plugin_folders)
        names = [str(profile.scheduler_name) for profile in ready.loaded.config.profiles]
        if wanted in names:
            return ready
        found += names
    served = f" (there are {', '.join(sorted(set(found)))})" if found else ""
    raise CannotExplain(f"pod {pod.key} waits for the scheduler {wanted}, which nothing here serves{served}; {NAME_IT}")


async def _sources(api: ApiClient, question: Question, wanted: str) -> list[Path | Unit | None]:
    """Return the configurations in which the pod's profile may be, as files or units; None is the default one."""
    if question.config is not None:
        return [question.config]
    if question.config_map is not None:
        namespace, name = question.config_map
        body = await api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        found = msgspec.json.decode(body, type=ConfigMap)
        try:
            return [unit_in(found.data)]
        except InvalidUnit as error:
            raise CannotExplain(f"{namespace}/{name}: {error}") from error
    is_default = wanted == DEFAULT_SCHEDULER
    try:
        written = await _written_by_operators(api)
    except ApiError as error:
        if not is_default:
            text = f"you may not look for the configuration of the scheduler {wanted} ({error.message})"
            raise CannotExplain(f"{text}; {NAME_IT}") from error
        written = []
    # Somebody else's, which may not even be right for this release, is none of our business.
    return [*(unit for unit in written if wanted in unit.configuration), *([None] if is_default else [])]


async def _written_by_operators(api: ApiClient) -> list[Unit]:
    body = await api.get("/api/v1/configmaps", WRITTEN_BY_US)
    found = msgspec.json.decode(body, type=_ConfigMaps).items
    return [unit_in(each.data) for each in found if CONFIGURATION in each.data]


class _ConfigMaps(msgspec.Struct):
    items: list[ConfigMap]


async def _fill(api: ApiClient, played: Simulation, kinds: Collection[type[Any]]) -> list[str]:
    """Bring in all nodes, and the objects of these kinds; returns what is to be said about them."""
    notes = []
    resources: list[ApiResource[Any]] = [NODES, *(resource for resource in RESOURCES if resource.shape in kinds)]
    for resource in resources:
        try:
            found = await _listed(api, resource)
        except ApiError as error:
            if error.status != NOT_SERVED:
                raise
            continue  # plugins find none, here as in the scheduler
        for each in found.objects.values():
            played.add(each)
        for broken in found.undecodable.values():
            identity = broken.metadata
            notes.append(f"{resource} {identity.name} cannot be understood: {broken.reason}")
            played.note_trouble(resource.shape, identity.name, identity.namespace, broken.reason)
    return notes


async def _listed(api: ApiClient, resource: ApiResource[T]) -> KnownObjects[T]:
    found, _ = await Lister(api, resource, EventReader(resource)).list(FROM_MEMORY)
    return found
