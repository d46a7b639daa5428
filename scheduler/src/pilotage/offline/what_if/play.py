"""One course of events: waiting pods are decided first, then the changes happen, then the scheduler decides again."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pilotage.config.suggestions import did_you_mean
from pilotage.model.pod import Pod, PodObject
from pilotage.offline.results import Result
from pilotage.offline.simulation import Simulation
from pilotage.offline.what_if.budgets import Budgets
from pilotage.offline.what_if.changes import Changes
from pilotage.offline.what_if.departures import Departures
from pilotage.offline.what_if.new_pods import Arrival, Copies, NewPods, check_number, read_new_pods
from pilotage.offline.what_if.pace import Pace
from pilotage.offline.what_if.request import Add, AddPods, Change, UseProfile, WhatIf, WrongRequest
from pilotage.offline.what_if.use import Use, use_of
from pilotage.offline.what_if.world import World

Steps = Generator[None, None, None]
NEW_PODS = ("add", "addPods")
INLINE = "what-if"  # the schedulerName of a profile without one


@dataclass(frozen=True)
class Deciders:
    """The profiles that decide instead of the running ones."""

    specs: Mapping[str, Mapping[str, Any]]  # by schedulerName
    of_new_pods: str = ""  # a schedulerName; "": each pod's own


def deciders(request: WhatIf) -> Deciders:
    """Return the profiles that decide."""
    specs: dict[str, Mapping[str, Any]] = {}
    name = ""
    if isinstance(request.profile, str):
        name = request.profile
    elif request.profile is not None:
        name = str(request.profile.get("schedulerName") or INLINE)
        specs[name] = request.profile
    for change in request.changes:
        if change.use_profile is not None:
            name = _named(change.use_profile, specs) or name
    return Deciders(specs, name)


def _named(use: UseProfile, specs: dict[str, Mapping[str, Any]]) -> str:
    if use.spec is None:
        return use.name
    specs[str(use.spec.get("schedulerName") or use.name)] = use.spec
    return ""


@dataclass
class Added:
    """New pods of one change."""

    new: NewPods
    copies: int
    titles: dict[str, str] = field(default_factory=dict)  # of the owners of those created so far, by namespace/name


class Play:
    """A course of events."""

    def __init__(self, world: World, simulation: Simulation, request: WhatIf, pace: Pace) -> None:
        self.world, self.simulation, self.request, self._pace = world, simulation, request, pace
        budgets = Budgets(simulation.cache.objects, simulation.cache.objects.put)
        self.departures = Departures(simulation, budgets)
        self.changes = Changes(simulation, self.departures)
        self.added: list[Added] = []
        self.before: dict[str, str] = {}  # the node of each pod that gets one anyway, by namespace/name
        self.waited: set[str] = set()  # pods that wait before anything changes
        self.use_before: dict[str, Use] = {}
        self._deciders = deciders(request)
        self._taken: set[str] = set()  # names of new pods, as namespace/name

    # ------------------------------------------------------------------------------------------------- the course

    def go(self, changes: Iterable[Change]) -> Steps:
        """Play everything."""
        yield from self.begin()
        for change in changes:
            yield from self.change(change)
        yield from self.settle()

    def begin(self) -> Steps:
        """Decide about the pods that wait already, as the scheduler would anyway."""
        if self.request.asks("others"):
            for pod in self.world.moment.waiting:
                self.simulation.add(pod)
                yield from self._pace.turn()
            self.waited = {pod.key for pod in self.world.moment.waiting}
            yield from self.settle()
        self.before = {key: result.node for key, result in self.results().items() if result.node}
        self.departures.forget()
        self.use_before = yield from self._pace.finish(use_of(self.simulation.cache))

    def change(self, change: Change) -> Steps:
        """Make one change; new pods wait afterwards."""
        if change.add is not None or change.add_pods is not None:
            added = self.read(change)
            copies = self.copies_of(added)
            yield from self._pace.turn()
            for _ in range(added.copies):
                for arrival in copies.next():
                    self.arrive(added, arrival)
                    yield from self._pace.turn()
        elif change.use_profile is None:
            yield from self._pace.through(self.changes.apply(change))

    def settle(self) -> Steps:
        """Let the scheduler decide until nothing more happens; replacements of evicted pods wait, too."""
        while True:
            yield from self._pace.rest()  # the first pod of a class is decided by all plugins about all nodes
            yield from self._pace.through(self.simulation.steps())
            if not (self.departures.bring_back() or self.departures.try_blocked()):
                return

    # ------------------------------------------------------------------------------------------------------- pods

    def read(self, change: Change) -> Added:
        """Read the pods of a change; WrongRequest if no profile serves them."""
        manifests, copies = _asked(change)
        new = read_new_pods(manifests, self.world.classes.values(), self.world.scheduling.kinds)
        for kind in new.kinds:
            if self._deciders.of_new_pods:
                kind.pod = _for_scheduler(kind.pod, self._deciders.of_new_pods)
            self._must_be_served(kind.pod, kind.title)
        check_number(new, copies, self.request.limits.copies, len(self.simulation.cache.columns.infos))
        added = Added(new, copies)
        self.added.append(added)
        return added

    def copies_of(self, added: Added) -> Copies:
        """Return how to make copies."""
        infos = self.simulation.cache.columns.infos
        return Copies(added.new, self._is_taken, lambda: [info.node for info in infos])

    def arrive(self, added: Added, arrival: Arrival) -> None:
        """Create a new pod, with the objects that come with it."""
        for each in arrival.objects:
            self.simulation.objects.added(each)
        self._taken.add(arrival.pod.key)
        added.titles[arrival.pod.key] = arrival.title
        self.simulation.add(arrival.pod)

    def _is_taken(self, key: str) -> bool:
        return key in self._taken or key in self.world.keys

    def results(self) -> dict[str, Result]:
        """Return the results of all pods so far, by namespace/name."""
        return {f"{result.namespace}/{result.name}": result for result in self.simulation.results}

    def _must_be_served(self, pod: Pod, title: str) -> None:
        served = self.simulation.engines
        if pod.scheduler_name not in served:
            near = did_you_mean(pod.scheduler_name, served)
            text = f"{title}: no profile has its schedulerName {pod.scheduler_name} (there are {', '.join(served)})"
            raise WrongRequest(f"{text}; {near or 'choose one with the field profile'}")


def _asked(change: Change) -> tuple[list[dict[str, Any]], int]:
    if change.add is not None:
        return change.add.manifests, change.add.copies
    assert change.add_pods is not None
    return [_manifest(change.add_pods)], change.add_pods.copies


def _manifest(asked: AddPods) -> dict[str, Any]:
    resources = {"requests": dict(asked.requests), "limits": dict(asked.limits)}
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": "", "resources": resources}],
        "nodeSelector": dict(asked.node_selector),
        "tolerations": list(asked.tolerations),
    }
    spec |= {"priorityClassName": asked.priority_class_name} if asked.priority_class_name else {}
    spec |= {"schedulerName": asked.scheduler_name} if asked.scheduler_name else {}
    metadata = {"name": asked.name, "namespace": asked.namespace, "labels": dict(asked.labels)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _for_scheduler(pod: Pod, name: str) -> Pod:
    spec = msgspec.structs.replace(pod.spec, scheduler_name=name)
    return Pod(PodObject(pod.metadata, spec, pod.status))


def adds_pods(change: Change) -> bool:
    """Return whether a change adds pods."""
    return isinstance(change.named[1], Add | AddPods)
