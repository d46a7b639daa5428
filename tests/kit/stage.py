"""A namespace in which pods are played to a scheduler, and everything that the scheduler then says about them."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from kit.admin import Admin
from kit.commands import Manifest
from kit.control_plane import ControlPlane
from pilotage.testing import pod_manifest

PATIENCE = 30.0  # seconds
QUIET = 0.8  # seconds without a change, after which nothing more is expected
HELD = "example.com/held"  # a finalizer: the pod stays until somebody lets it go
BY_THE_SCHEDULER = ("PodScheduled", "DisruptionTarget")


class Stage:
    """Plays pods in one namespace; times, names and uids are taken out of what is told about them."""

    def __init__(self, admin: Admin, namespace: str) -> None:
        self.admin = admin
        self.namespace = namespace
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._uids: dict[str, str] = {}
        self._looks: list[Any] = []

    # ------------------------------------------------------------------------------------------------------- playing

    def create(self, name: str, *, held: bool = False, owners: Sequence[Manifest] = (), **fields: Any) -> Any:
        """Create a pod; a held one stays until it is let go when it is deleted."""
        manifest = pod_manifest(name, namespace=self.namespace, **fields)
        if owners:
            manifest["metadata"]["ownerReferences"] = list(owners)
        if held:
            manifest["metadata"]["finalizers"] = [HELD]
        pod = self.admin.post(self._pods, manifest)
        self._uids[pod["metadata"]["uid"]] = name
        return pod

    def create_other(self, api: str, plural: str, manifest: Manifest) -> Any:
        """Create an object that is no pod, in this namespace."""
        return self.admin.post(f"{api}/namespaces/{self.namespace}/{plural}", manifest)

    def change(self, name: str, change: Manifest) -> None:
        """Merge a change into a pod."""
        self.admin.patch(f"{self._pods}/{name}", change)

    def delete(self, name: str, **options: Any) -> None:
        """Delete a pod."""
        self.admin.delete(f"{self._pods}/{name}", **options)

    def let_go(self, name: str) -> None:
        """Take the finalizer off a held pod."""
        self.change(name, {"metadata": {"finalizers": None}})

    def pod(self, name: str) -> Any:
        """Return a pod, None if it is gone."""
        return self.admin.find(f"{self._pods}/{name}")

    def node_of(self, name: str) -> str | None:
        """Return the node of a pod."""
        node: str | None = (self.pod(name) or {"spec": {}})["spec"].get("nodeName")
        return node

    def nominated(self, name: str) -> str | None:
        """Return the node that a pod is nominated."""
        nominated: str | None = self.pod(name)["status"].get("nominatedNodeName")
        return nominated

    def leaving(self) -> set[str]:
        """Return the pods that are being deleted."""
        pods = self.admin.get(self._pods)["items"]
        return {pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]}

    # ------------------------------------------------------------------------------------------------------- waiting

    def until(self, holds: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"after {seconds:g} s it is not so that {what}: {self._story()}"
            time.sleep(0.05)

    def until_bound(self, *names: str) -> None:
        """Wait until pods have nodes, and events say so."""
        for name in names:
            self.until(partial(self.node_of, name), f"{name} has a node")
            self.until_told(name, "Scheduled")

    def until_running(self, *names: str) -> None:
        """Wait until pods run."""
        for name in names:
            self.until(partial(self._runs, name), f"{name} runs")

    def until_refused(self, *names: str) -> None:
        """Wait until pods and events say that there is no place for them."""
        for name in names:
            self.until(partial(self._is_refused, name), f"{name} is refused")
            self.until_told(name, "FailedScheduling")

    def until_told(self, name: str, reason: str, times: int = 1) -> None:
        """Wait until so many events, or sightings of one, tell something of a pod."""
        self.until(lambda: self.times_told(name, reason) >= times, f"{reason} was told of {name} {times} times")

    def until_gone(self, *names: str) -> None:
        """Wait until there are no such pods."""
        for name in names:
            self.until(partial(self._is_gone, name), f"{name} is gone")

    def settle(self) -> None:
        """Wait until nothing changes any more."""
        before, since = self._story(), time.monotonic()
        deadline = since + PATIENCE
        while time.monotonic() < min(since + QUIET, deadline):
            time.sleep(0.1)
            if (now := self._story()) != before:
                before, since = now, time.monotonic()

    def times_told(self, name: str, reason: str) -> int:
        """Return how often something was told of a pod."""
        events = [each for each in self._events() if each["regarding"]["name"] == name and each["reason"] == reason]
        return sum(each.get("series", {}).get("count", 1) for each in events)

    def notes(self, name: str, reason: str) -> list[str]:
        """Return what was told of a pod, the earliest first."""
        return [
            each["note"] for each in self._events() if (each["regarding"]["name"], each["reason"]) == (name, reason)
        ]

    # ------------------------------------------------------------------------------------------------------- telling

    def look(self) -> None:
        """Take note of how the pods are now."""
        self.settle()
        self._looks.append({pod["metadata"]["name"]: _outline(pod) for pod in self.admin.get(self._pods)["items"]})

    def record(self) -> Any:
        """Return all looks and all events, with nothing in them that differs from run to run."""
        self.look()
        text = json.dumps({"looks": self._looks, "events": self._outlined_events()})
        for uid, name in self._uids.items():
            text = text.replace(uid, f"<uid of {name}>")
        return json.loads(text.replace(self.namespace, "<namespace>"))

    def _outlined_events(self) -> list[Any]:
        versions: dict[str, list[str]] = {}
        return sorted(
            (_event_outline(event, versions) for event in self._events()), key=lambda event: event["regarding"]["name"]
        )

    def _events(self) -> list[Any]:
        events = self.admin.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        about_pods = (event for event in events if event["regarding"].get("kind") == "Pod")
        return sorted(about_pods, key=lambda event: event["eventTime"] or event["deprecatedFirstTimestamp"])

    def _runs(self, name: str) -> bool:
        return bool(self.pod(name)["status"].get("phase") == "Running")

    def _is_refused(self, name: str) -> bool:
        conditions = self.pod(name)["status"].get("conditions", [])
        return any((each["type"], each["status"]) == ("PodScheduled", "False") for each in conditions)

    def _is_gone(self, name: str) -> bool:
        return self.pod(name) is None

    def _story(self) -> Any:
        pods = self.admin.get(self._pods)["items"]
        return {pod["metadata"]["name"]: _outline(pod) for pod in pods}, self._outlined_events()


def _outline(pod: Any) -> Any:
    status = pod["status"]
    conditions = [each for each in status.get("conditions", []) if each["type"] in BY_THE_SCHEDULER]
    return {
        "node": pod["spec"].get("nodeName"),
        "nominated": status.get("nominatedNodeName"),
        "leaving": "deletionTimestamp" in pod["metadata"],
        "conditions": [_without_times(each) for each in conditions],
    }


def _without_times(fields: Any) -> Any:
    """Keep the names of the fields that are times, not their values."""
    return {key: bool(value) if key.endswith(("Time", "Timestamp")) else value for key, value in fields.items()}


def _event_outline(event: Any, versions: dict[str, list[str]]) -> Any:
    outline = _without_times({key: value for key, value in event.items() if key != "metadata"})
    outline["regarding"] = dict(event["regarding"])
    pod = outline["regarding"]["name"]
    if version := outline["regarding"].get("resourceVersion"):
        known = versions.setdefault(pod, [])
        if version not in known:
            known.append(version)
        outline["regarding"]["resourceVersion"] = f"version {known.index(version) + 1} that was told about"
    if "series" in event:
        outline["series"] = _without_times(event["series"])
    outline["name"] = re.sub(r"\.[0-9a-f]{16}$", ".<time>", event["metadata"]["name"])
    outline["labels"] = event["metadata"].get("labels")
    outline["annotations"] = event["metadata"].get("annotations")
    return outline


def clear_pods(control_plane: ControlPlane) -> None:
    """Delete all pods now: those of removed nodes are collected a minute later, and that wakes whoever waits then."""
    deadline = time.monotonic() + PATIENCE
    with closing(Admin(control_plane.cluster)) as admin:
        while left := {pod["metadata"]["namespace"] for pod in admin.get("/api/v1/pods")["items"]}:
            assert time.monotonic() < deadline, f"after {PATIENCE:g} s there are still pods in {sorted(left)}"
            for namespace in left:
                admin.delete(f"/api/v1/namespaces/{namespace}/pods", gracePeriodSeconds=0)


@contextmanager
def stage(control_plane: ControlPlane, namespace: str) -> Iterator[Stage]:
    """A stage in a namespace of its own that is cleared afterwards: the next one meets empty nodes."""
    with closing(Admin(control_plane.cluster)) as admin:
        admin.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        playing = Stage(admin, namespace)
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        playing.until(lambda: admin.find(account), "there is a service account")
        try:
            yield playing
        finally:
            _clear(playing)


def _clear(playing: Stage) -> None:
    pods = f"/api/v1/namespaces/{playing.namespace}/pods"
    for pod in playing.admin.get(pods)["items"]:
        playing.delete(pod["metadata"]["name"], gracePeriodSeconds=0)
        if HELD in pod["metadata"].get("finalizers", []):
            playing.let_go(pod["metadata"]["name"])
    playing.until(lambda: not playing.admin.get(pods)["items"], "the stage is empty")
    playing.admin.delete(f"/api/v1/namespaces/{playing.namespace}")
