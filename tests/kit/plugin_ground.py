"""A release of the chart, one plugin of whose only profile is switched on and off, and scenes that are played to it."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from kit.admin import Admin
from kit.commands import Manifest
from kit.control_plane import ControlPlane
from kit.load_watcher import LoadWatcher
from kit.plugin_scenes import GONE, NAMESPACE, SCENE, UID_OF, WAITS, WATCHER, Scene
from kit.release import TO_HOME_NODES, Process, Release
from kit.stage import Stage

PROFILES = "/apis/pilotage.dev/v1alpha1/schedulerprofiles"
PATIENCE = 90.0  # seconds
NOBODY = "nobody"  # a scheduler whose pods there are none of


class PluginGround:
    """An installed release with its programs, and one profile whose plugins are switched."""

    def __init__(self, release: Release, scheduler: str, watcher: LoadWatcher, admin: Admin) -> None:
        self.release, self.scheduler, self.watcher, self.admin = release, scheduler, watcher, admin
        self.processes: list[Process] = []

    # --------------------------------------------------------------------------------------------------- the profile

    def switch(self, *entries: Manifest, serves: str = "") -> None:
        """Give the profile these plugins and its pods, or those of another, and wait until the scheduler runs it."""
        self.ask_for(*entries, serves=serves)
        try:
            self.until(lambda: self.condition("Ready")[0] == "True", f"{entries} is Ready")
        except AssertionError as error:
            raise AssertionError(f"{self.condition('Accepted')} {self.condition('Ready')}\n{error}") from None

    def ask_for(self, *entries: Manifest, serves: str = "") -> None:
        """Give the profile these plugins and its pods, or those of another."""
        spec = {"plugins": list(entries), "schedulerName": serves or self.scheduler}
        self.admin.patch(f"{PROFILES}/{self.scheduler}", {"spec": spec})

    def condition(self, kind: str, profile: str = "") -> tuple[str, str, str]:
        """Return status, reason and message of a condition, of what is stored now."""
        found = self.admin.find(f"{PROFILES}/{profile or self.scheduler}") or {}
        generation = found.get("metadata", {}).get("generation")
        for each in found.get("status", {}).get("conditions", ()):
            if each["type"] == kind and each["observedGeneration"] == generation:
                return each["status"], each["reason"], each["message"]
        return "", "", ""

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something holds."""
        self.release.until(holds, what, self.processes, PATIENCE)

    # ------------------------------------------------------------------------------------------------------ the scene

    @contextmanager
    def scene(self, scene: Scene, namespace: str) -> Iterator["PlayedScene"]:
        """Create what there is, and remove what is in no namespace afterwards."""
        played = PlayedScene(self, scene, namespace)
        with ExitStack() as stack:
            stack.callback(played.remove)
            played.build()
            yield played


class PlayedScene:
    """A scene in a namespace."""

    def __init__(self, ground: PluginGround, scene: Scene, namespace: str) -> None:
        self._ground, self._scene, self._namespace = ground, scene, namespace
        self._stage = Stage(ground.admin, namespace)
        self._uids: dict[str, str] = {}

    def build(self) -> None:
        """Create nodes and objects, and let the load-watcher know."""
        ground, scene = self._ground, self._scene
        ground.release.control_plane.fake_nodes(scene.node_manifests())
        if scene.objects:
            words = ("create", "-o", "jsonpath={.metadata.name} {.metadata.uid}{'\\n'}", "-f", "-")
            said = ground.release.kubectl("-n", self._namespace, *words, stdin=self._objects())
            self._uids = dict(line.split() for line in said.splitlines())
        ground.watcher.loads[scene.plugin] = {scene.node(short): load.metrics() for short, load in scene.loads.items()}

    def remove(self) -> None:
        """Switch the plugin off and remove what is in no namespace."""
        self._ground.switch()
        self._clear()
        self._ground.release.control_plane.delete_nodes(f"{SCENE}={self._scene.plugin}")
        if self._scene.objects:
            words = ("delete", "--ignore-not-found", "--wait=false", "-f", "-")
            self._ground.release.kubectl("-n", self._namespace, *words, stdin=self._objects())

    def play(self, *, enabled: bool) -> None:
        """Switch the plugin, and let the pods come."""
        scene = self._scene
        self._clear()
        before = self._asked()
        if scene.served_later:
            self._ground.switch(serves=NOBODY)
            self._let_come()
        self._ground.switch(self._filled(scene.entry(enabled=enabled)))
        if scene.loads and enabled:  # who asks a second time has taken the first answer
            self._ground.until(lambda: self._asked() >= before + 2, "the load-watcher was asked")
        for name, fields in scene.residents.items():
            self._create(name, fields)
        self._stage.until_running(*scene.residents)
        for name in scene.leaving:
            self._stage.delete(name)
            self._ground.until(partial(self._is_leaving, name), f"{name} is leaving")
        if not scene.served_later:
            self._let_come()

    def until_seen(self, wanted: Mapping[str, str]) -> None:
        """Wait until all pods are where they should be."""

        def found() -> dict[str, str]:
            return {name: self._seen(name) for name in wanted}

        def holds() -> bool:
            return all(_is(found()[name], self._filled(text)) for name, text in wanted.items())

        try:
            self._ground.until(holds, "the pods are where they should be")
        except AssertionError as error:
            raise AssertionError(f"wanted {wanted}, seen {found()}\n{error}") from None

    def _let_come(self) -> None:
        for name, fields in self._scene.pods.items():
            self._create(name, fields)

    def _clear(self) -> None:
        for pod in self._ground.admin.get(f"/api/v1/namespaces/{self._namespace}/pods")["items"]:
            if pod["metadata"].get("finalizers"):
                self._stage.let_go(pod["metadata"]["name"])
            self._stage.delete(pod["metadata"]["name"], gracePeriodSeconds=0)
        self._stage.until_gone(*self._scene.residents, *self._scene.pods)

    def _create(self, name: str, fields: Mapping[str, Any]) -> None:
        given = self._filled(
            {"node_selector": {SCENE: self._scene.plugin}, "scheduler": self._ground.scheduler, **fields}
        )
        owners = [given.pop("owner")] if "owner" in given else []
        if "node" in given:
            given["node"] = self._scene.node(given["node"])
        self._stage.create(name, owners=owners, **given)

    def _seen(self, name: str) -> str:
        """Return the node of a pod, or why it has none."""
        pod = self._stage.pod(name)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return GONE
        if node := pod["spec"].get("nodeName"):
            return str(node).removeprefix(self._scene.node(""))
        conditions = pod.get("status", {}).get("conditions", ())
        return WAITS + next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")

    def _is_leaving(self, name: str) -> bool:
        return self._seen(name) == GONE

    def _asked(self) -> int:
        return self._ground.watcher.asked.get(self._scene.plugin, 0)

    def _objects(self) -> str:
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": self._filled(list(self._scene.objects))})

    def _filled(self, given: Any) -> Any:
        """Return something with what is known only now."""
        text = json.dumps(given).replace(NAMESPACE, self._namespace).replace(WATCHER, self._ground.watcher.address)
        for name, uid in self._uids.items():
            text = text.replace(UID_OF + name, uid)
        return json.loads(text)


def _is(seen: str, wanted: str) -> bool:
    if wanted.startswith(WAITS):
        return seen.startswith(WAITS) and wanted.removeprefix(WAITS) in seen
    return seen == wanted


@contextmanager
def plugin_ground(
    control_plane: ControlPlane, namespace: str, folder: Path, values: Manifest | None = None
) -> Iterator[PluginGround]:
    """Install the chart, run its programs, and wait until its profile is Ready; all is removed afterwards."""
    scheduler = "switched"
    release = Release(control_plane, namespace, "switch", folder, 4)
    own = {"name": scheduler, "replicaCount": 1, **TO_HOME_NODES}
    crds = {"keep": False}
    with ExitStack() as stack:
        watcher = stack.enter_context(LoadWatcher())
        admin = stack.enter_context(closing(Admin(control_plane.cluster)))
        stack.callback(release.helm, "uninstall", release.name, "--namespace", namespace)
        release.install(values={"scheduler": own, "operator": TO_HOME_NODES, "crds": crds, **(values or {})})
        with control_plane.kube_scheduler():
            deployment = "deployment/switch-pilotage-scheduler"
            release.kubectl("-n", namespace, "rollout", "status", deployment, "--timeout=120s")
        ground = PluginGround(release, scheduler, watcher, admin)
        for component in ("operator", "scheduler"):
            ground.processes += stack.enter_context(release.processes(component))
        ground.until(lambda: ground.condition("Ready")[0] == "True", "the profile is Ready")
        yield ground
