"""A cluster in memory for the operator's decisions: profiles, a ConfigMap, a Deployment, and replicas that react."""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import msgspec

from pilotage.config.handshake import CONFIGURATION, HASH, SERVED, STRATEGY, TROUBLE, PluginFile
from pilotage.scheduler_profiles.resource import Status
from pilotage_operator.profiles.actions import (
    Action,
    CreateConfigMap,
    CreateProfile,
    DeleteProfile,
    PatchConfigMap,
    PatchProfile,
    PatchStatus,
    StampDeployment,
    WakeUp,
    WriteEvent,
    WriteFileEvent,
)
from pilotage_operator.profiles.world import (
    Answer,
    ConfigMap,
    Deployment,
    KeptProfile,
    OwnerReference,
    PluginSource,
    Right,
    SchedulerPod,
    StoredProfile,
    World,
    replicas_among,
    written,
)
from pilotage_operator.settings import Settings, settings_for

SETTINGS = settings_for("sys", "pilot")
LABELS = {"app.kubernetes.io/instance": "pilot", "app.kubernetes.io/component": "scheduler"}
START = datetime(2026, 1, 1, tzinfo=UTC)
# What a spec must say for replicas to play along: the number reaches them in the configuration.
REFUSED, FAILING, IGNORED = 13, 17, 19


class Conflict(Exception):
    """Something is not what it was."""


class ProfileWorld:
    """What the API server would hold; actions change it as requests would."""

    def __init__(self, replicas: int = 2, settings: Settings = SETTINGS) -> None:
        self.settings = settings
        self.now = START
        self.profiles: dict[str, dict[str, Any]] = {}
        self.config_map: dict[str, Any] | None = None
        self.deployment: dict[str, Any] | None = self._deployment(replicas)
        self.pods: dict[str, dict[str, Any]] = {}
        self.events: list[WriteEvent] = []
        self.file_events: list[WriteFileEvent] = []
        self.told: set[str] = set()
        self.rights: dict[Right, Answer] = {}
        self.kept: tuple[KeptProfile, ...] | None = None
        self.owner: OwnerReference | None = OwnerReference("rbac.authorization.k8s.io/v1", "ClusterRole", "o", "uid-o")
        self.remembered: Mapping[str, str] = {}
        self.files: dict[str, str] = {}  # the plugin files, as CONFIGMAP/FILE
        self.kube_scheduler = ""
        self._version = 0
        for _ in range(replicas):
            self.add_pod()

    # --------------------------------------------------------------------------------------------- by hand

    def put(self, name: str, spec: Mapping[str, Any], **metadata: Any) -> None:
        """Create a profile, or change its spec."""
        stored = self.profiles.get(name)
        if stored is None:
            self.now += timedelta(seconds=1)
            self.profiles[name] = {
                "metadata": self._metadata(name, generation=1, **metadata),
                "spec": deepcopy(dict(spec)),
            }
        elif stored["spec"] != spec:
            stored["spec"] = deepcopy(dict(spec))
            stored["metadata"]["generation"] += 1
            self._touch(stored)

    def add_pod(self, phase: str = "Running") -> str:
        """Start a replica that has read nothing yet."""
        name = f"scheduler-{self._next()}"
        self.pods[name] = {"metadata": self._metadata(name, labels=dict(LABELS)), "status": {"phase": phase}}
        return name

    def status(self, name: str) -> dict[str, Any]:
        """Return the status of a profile."""
        found = self.profiles[name].get("status", {})
        assert isinstance(found, dict)
        return found

    def condition(self, name: str, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message of a condition."""
        found = next(each for each in self.status(name)["conditions"] if each["type"] == kind)
        return found["status"], found["reason"], found["message"]

    @property
    def served(self) -> dict[str, Any]:
        """Return what the ConfigMap says of who is served."""
        found = json.loads(self.config_map["data"][SERVED]) if self.config_map else {}
        assert isinstance(found, dict)
        return found

    @property
    def text(self) -> str:
        """Return the configuration."""
        assert self.config_map is not None
        return str(self.config_map["data"][CONFIGURATION])

    @property
    def hash(self) -> str:
        """Return the hash of the configuration."""
        assert self.config_map is not None
        return str(self.config_map["metadata"]["annotations"][HASH])

    # -------------------------------------------------------------------------------------------- replicas

    def react(self, names: Iterable[str] | None = None) -> None:
        """Let replicas look at the ConfigMap, as the scheduler does."""
        if self.config_map is None:
            return
        for name in names or list(self.pods):
            annotations = self.pods[name]["metadata"].setdefault("annotations", {})
            strategy = self.config_map["metadata"]["annotations"].get(STRATEGY)
            if strategy != "Restart" or not annotations.get(HASH):
                self._swap(annotations)

    def _swap(self, annotations: dict[str, str]) -> None:
        if f"percentageOfNodesToScore: {IGNORED}\n" in self.text:
            return
        if f"percentageOfNodesToScore: {REFUSED}\n" in self.text:
            if annotations.get(HASH) != self.hash:
                message = f"creating profile for scheduler name {self._saying(REFUSED)}: no"
                annotations[TROUBLE] = json.dumps({"kind": "refused", "hash": self.hash, "message": message})
            return
        annotations[HASH] = self.hash
        annotations.pop(TROUBLE, None)
        if failing := self._saying(FAILING):
            found = {"kind": "failing", "hash": self.hash, "schedulerName": failing, "plugin": "P", "message": "oops"}
            annotations[TROUBLE] = json.dumps(found)

    def _saying(self, number: int) -> str:
        for name, entry in self.served.items():
            if entry["spec"].get("percentageOfNodesToScore") == number:
                return str(entry["spec"].get("schedulerName", name))
        return ""

    def replace_pods(self) -> None:
        """Let the Deployment replace all pods that are not made as it says."""
        assert self.deployment is not None
        stamp = self.deployment["spec"]["template"]["metadata"].get("annotations", {}).get(HASH, "")
        for name, pod in list(self.pods.items()):
            if pod.get("stamp", "") != stamp:
                del self.pods[name]
                self.pods[self.add_pod()]["stamp"] = stamp
        count = self.deployment["spec"]["replicas"] = len(self.pods)
        self.deployment["status"] = {
            "observedGeneration": self.deployment["metadata"]["generation"],
            "replicas": count,
            "updatedReplicas": count,
        }

    # ------------------------------------------------------------------------------------------------- API

    def world(self) -> World:
        """Return what the operator sees."""
        deployment = msgspec.convert(self.deployment, Deployment) if self.deployment else None
        pods = [msgspec.convert(pod, SchedulerPod) for pod in self.pods.values()]
        return World(
            now=self.now,
            profiles=tuple(msgspec.convert(deepcopy(each), StoredProfile) for each in self.profiles.values()),
            replicas=replicas_among(pods, deployment),
            deployment=deployment,
            config_map=msgspec.convert(self.config_map, ConfigMap) if self.config_map else None,
            kept=self.kept,
            owner=self.owner,
            rights=self.rights,
            remembered=self.remembered,
            plugin_sources=tuple(
                PluginSource(name, f"uid-{name}", tuple(PluginFile(path, text) for path, text in files))
                for name, files in groupby(sorted(self.files.items()), key=lambda each: each[0].partition("/")[0])
            ),
            kube_scheduler=self.kube_scheduler,
        )

    def do(self, action: Action) -> None:
        """Do what a request would do."""
        match action:
            case CreateProfile(manifest):
                name = manifest["metadata"]["name"]
                if name in self.profiles:
                    raise Conflict(name)
                more = {key: value for key, value in manifest["metadata"].items() if key != "name"}
                self.put(name, manifest["spec"], **deepcopy(more))
            case PatchProfile(name, patch):
                self._patch_profile(name, patch)
            case DeleteProfile(name, uid):
                if self.profiles[name]["metadata"]["uid"] != uid:
                    raise Conflict(name)
                del self.profiles[name]
            case PatchStatus(name, patch):
                stored = self._at(name, patch)
                stored["status"] = merged(stored.get("status", {}), patch["status"])
                Status.model_validate(stored["status"])  # the API server would refuse anything else
                self._touch(stored)
            case CreateConfigMap(manifest):
                if self.config_map is not None:
                    raise Conflict("ConfigMap")
                self.config_map = deepcopy(dict(manifest))
                self.config_map["metadata"] |= self._metadata(manifest["metadata"]["name"])
            case PatchConfigMap(patch):
                if self.config_map is None:
                    raise Conflict("ConfigMap")
                self.config_map = merged(self.config_map, patch)
            case StampDeployment(stamp):
                assert self.deployment is not None
                self.deployment["spec"]["template"]["metadata"]["annotations"] = {HASH: stamp}
                self.deployment["metadata"]["generation"] += 1
            case WriteFileEvent():
                self.file_events.append(action)
            case WriteEvent(once=once):
                if once not in self.told:
                    self.events.append(action)
                self.told |= {once} - {""}
            case WakeUp():
                pass

    def _patch_profile(self, name: str, patch: Mapping[str, Any]) -> None:
        stored = self._at(name, patch)
        more = {key: value for key, value in patch["metadata"].items() if key != "resourceVersion"}
        stored["metadata"] = merged(stored["metadata"], more)
        if "spec" in patch:
            self.put(name, merged(stored["spec"], patch["spec"]))

    def _at(self, name: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        stored = self.profiles.get(name)
        if stored is None or patch["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise Conflict(name)
        return stored

    def _deployment(self, replicas: int) -> dict[str, Any]:
        self._version = 0
        spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": {"metadata": {}}}
        return {"metadata": self._metadata("pilot-scheduler", generation=1), "spec": spec, "status": {}}

    def _metadata(self, name: str, **more: Any) -> dict[str, Any]:
        number = self._next()
        own = {"name": name, "uid": f"uid-{number}", "resourceVersion": str(number)}
        return own | {"creationTimestamp": written(self.now)} | more

    def _touch(self, stored: dict[str, Any]) -> None:
        stored["metadata"]["resourceVersion"] = str(self._next())

    def _next(self) -> int:
        self._version += 1
        return self._version


def merged(old: Any, patch: Any) -> Any:
    """Return what a merge patch makes of a value."""
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    result = dict(old) if isinstance(old, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
