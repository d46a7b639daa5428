"""The operator as a process on a real API server, with the rights that are documented, before replicas that we play."""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import yaml

from kit.admin import Admin
from kit.commands import CommandFailed
from kit.control_plane import ControlPlane, running
from pilotage.framework.runtime.reading import rights_to_read
from pilotage.plugins.catalogue import built_in
from pilotage.testing import node_manifest

PROGRAM = str(Path(sys.executable).with_name("pilotage-operator"))
PROFILES = "/apis/pilotage.dev/v1alpha1/schedulerprofiles"
RELEASE = "pilot"
LABELS = {"app.kubernetes.io/instance": RELEASE, "app.kubernetes.io/component": "scheduler"}
NAMESPACE_ENDS = "because it is being terminated"  # of another test: nobody may create anything there
HASH, TROUBLE = "pilotage.dev/config-hash", "pilotage.dev/config-trouble"
PATIENCE = 60.0  # seconds
LOOK_EVERY = 0.05  # seconds: who looks all the time takes the machine from what it waits for
# What a replica writes to its pod when it sees a configuration, of which it gets the hash and the text.
Answers = Callable[[str, str], Mapping[str, str | None]]


def rules(group: str, resource: str, *verbs: str, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return one rule of a role."""
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)} | named


def plugin_rules() -> Iterator[dict[str, Any]]:
    """Yield what all plugins that are built in must be allowed to do."""
    for entry in built_in():
        for permission in (*rights_to_read(entry.plugin), *entry.plugin.permissions):
            yield rules(permission.group, permission.resource, *permission.verbs)


def missing_rights(said: str) -> list[str]:
    """Return the lines of a log about what was forbidden, but for new objects in a namespace that is being deleted."""
    return [line for line in said.splitlines() if "forbidden" in line.lower() and NAMESPACE_ENDS not in line]


class OperatorStage:
    """A release without a chart: its accounts, a Deployment without pods of its own, and pods that we play."""

    def __init__(self, control_plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.control_plane, self.namespace, self.kubectl = control_plane, namespace, control_plane.kubectl
        self.instance, self.owner, self._folder = f"{namespace}/{RELEASE}", f"{namespace}-operator", folder
        self.config_map = f"/api/v1/namespaces/{namespace}/configmaps/{RELEASE}-config"
        self.admin = Admin(control_plane.cluster)
        self.replicas: list[str] = []
        self.log = folder / "operator.log"

    # ---------------------------------------------------------------------------------------------- building

    def build(self, replicas: int = 2) -> None:
        """Create what the chart would, and pods on a node that kwok plays."""
        self.kubectl.apply(*self._accounts(), self._deployment())
        self.control_plane.fake_nodes([node_manifest(self._node)])
        for number in range(replicas):
            self.start_replica(f"replica-{number}")

    def start_replica(self, name: str) -> None:
        """Start a pod of the scheduler, which has read nothing yet."""
        container = {"name": "scheduler", "image": "scheduler"}
        spec = {"nodeName": self._node, "containers": [container], "terminationGracePeriodSeconds": 0}
        metadata = {"name": name, "namespace": self.namespace, "labels": LABELS}
        self.kubectl.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        self.kubectl("-n", self.namespace, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")
        self.replicas.append(name)

    def grant(self, name: str, granted: list[dict[str, Any]]) -> None:
        """Give the operator more rights in the whole cluster."""
        self.kubectl.apply(*self._bound("ClusterRole", f"{self.namespace}-{name}", f"{RELEASE}-operator", granted))

    def clean(self) -> None:
        """Remove what is in no namespace."""
        for profile in self.admin.get(PROFILES)["items"]:
            if profile["spec"].get("instance") == self.instance:
                self.admin.delete(f"{PROFILES}/{profile['metadata']['name']}")
        for kind in ("clusterrole", "clusterrolebinding"):
            self.kubectl("delete", kind, "-l", f"stage={self.namespace}", "--ignore-not-found")
        self.kubectl("delete", "node", self._node, "--ignore-not-found", "--wait=false")
        self.admin.close()

    @property
    def _node(self) -> str:
        return f"{self.namespace}-node"

    def _deployment(self) -> dict[str, Any]:
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "s", "image": "s"}]}}
        spec = {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": template}
        metadata = {"name": f"{RELEASE}-scheduler", "namespace": self.namespace}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}

    def _accounts(self) -> Iterator[dict[str, Any]]:
        """Yield the accounts, and for the operator's exactly the rights that it says it needs."""
        for name in (f"{RELEASE}-scheduler", f"{RELEASE}-operator"):
            metadata = {"name": name, "namespace": self.namespace}
            yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        yield from self._bound("ClusterRole", self.owner, f"{RELEASE}-operator", self._wide_rules())
        yield from self._bound("Role", "operator", f"{RELEASE}-operator", self._own_rules())
        plugins = f"{self.namespace}-plugins"
        yield from self._bound("ClusterRole", plugins, f"{RELEASE}-scheduler", list(plugin_rules()))

    def _wide_rules(self) -> list[dict[str, Any]]:
        return [
            rules("pilotage.dev", "schedulerprofiles", "list", "watch", "create", "patch", "delete"),
            rules("pilotage.dev", "schedulerprofiles/status", "patch"),
            rules("authorization.k8s.io", "subjectaccessreviews", "create"),
            rules("", "nodes", "list"),
            rules("rbac.authorization.k8s.io", "clusterroles", "get", names=(self.owner,)),
            rules("events.k8s.io", "events", "create"),
            rules("coordination.k8s.io", "leases", "get", names=("kube-scheduler",)),
        ]

    def _own_rules(self) -> list[dict[str, Any]]:
        return [
            rules("", "configmaps", "create"),
            rules("", "configmaps", "get", "patch", names=(f"{RELEASE}-config",)),
            rules("", "configmaps", "list", "watch"),
            rules("", "pods", "list", "watch"),
            rules("apps", "deployments", "get", "list", "watch", "patch", names=(f"{RELEASE}-scheduler",)),
        ]

    def _bound(self, kind: str, name: str, account: str, granted: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        metadata = {"name": name, "labels": {"stage": self.namespace}}
        if kind == "Role":
            metadata["namespace"] = self.namespace
        api = "rbac.authorization.k8s.io/v1"
        yield {"apiVersion": api, "kind": kind, "metadata": metadata, "rules": granted}
        yield self._binding(kind, name, account, name)

    def _binding(self, kind: str, role: str, account: str, name: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": name, "labels": {"stage": self.namespace}}
        if kind == "Role":
            metadata["namespace"] = self.namespace
        group = "rbac.authorization.k8s.io"
        return {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}],
        }

    # --------------------------------------------------------------------------------------------- operating

    def command(self, *flags: str) -> list[str]:
        """Return how the operator of this release is started."""
        own = [f"--namespace={self.namespace}", f"--release={RELEASE}", f"--owner={self.owner}", "--controllers="]
        return [PROGRAM, "run", *own, f"--kubeconfig={self._kubeconfig()}", "--liveness-port=0", *flags]

    @contextmanager
    def operator(self, *flags: str, faultless: bool = True) -> Iterator[subprocess.Popen[bytes]]:
        """Run the operator until the block ends; without faults no right may be missing, and nothing a surprise."""
        with running(self.command(*flags), self.log) as process:
            yield process
        said = self.log.read_text()
        assert not faultless or not (missing_rights(said) or "Traceback" in said), said

    def _kubeconfig(self) -> Path:
        path = self._folder / "kubeconfig"
        if not path.exists():
            token = self.kubectl("create", "token", f"{RELEASE}-operator", "-n", self.namespace).strip()
            document = yaml.safe_load(self.control_plane.kubeconfig.read_text())
            document["users"] = [{"name": document["users"][0]["name"], "user": {"token": token}}]
            path.write_text(yaml.safe_dump(document))
        return path

    def apply(self, name: str, **spec: Any) -> None:
        """Create a profile of this release, or replace its spec."""
        wanted = {"instance": self.instance} | spec
        if self.admin.find(f"{PROFILES}/{name}") is None:
            api = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": name}}
            self.admin.post(PROFILES, api | {"spec": wanted})
        else:
            replaced = [{"op": "replace", "path": "/spec", "value": wanted}]
            self.admin.patch(f"{PROFILES}/{name}", replaced, "application/json-patch+json")  # type: ignore[arg-type]

    def status(self, name: str) -> dict[str, Any]:
        """Return what has become of a profile."""
        return dict(self.admin.get(f"{PROFILES}/{name}").get("status", {}))

    def condition(self, name: str, kind: str) -> tuple[str, str]:
        """Return status and reason of a condition of what is stored now."""
        profile = self.admin.get(f"{PROFILES}/{name}")
        for found in profile.get("status", {}).get("conditions", ()):
            if found["type"] == kind and found["observedGeneration"] == profile["metadata"]["generation"]:
                return found["status"], found["reason"]
        return "", ""

    def message(self, name: str, kind: str) -> str:
        """Return the sentence of a condition."""
        return next(str(each["message"]) for each in self.status(name)["conditions"] if each["type"] == kind)

    def until_condition(self, name: str, kind: str, *wanted: str, seconds: float = PATIENCE) -> None:
        """Wait for a condition."""
        self.until(lambda: self.condition(name, kind)[: len(wanted)] == wanted, f"{name} {kind} {wanted}", seconds)

    def until(self, holds: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                found = json.dumps([each.get("status") for each in self.admin.get(PROFILES)["items"]], indent=1)
                said = self.log.read_text()[-4000:] if self.log.exists() else ""
                raise CommandFailed(f"not yet: {what}\n{found}\n{said}")
            time.sleep(LOOK_EVERY)

    def text(self) -> str:
        """Return the configuration; nothing if there is none."""
        found = self.admin.find(self.config_map)
        return str(found.get("data", {}).get("scheduler-config.yaml", "")) if found else ""

    @contextmanager
    def playing(self, answers: Answers | None = None) -> Iterator[None]:
        """Play the replicas: each follows the ConfigMap; `answers` says how, of hash and text, as annotations."""
        stopped = threading.Event()
        answer = answers or (lambda found, _: {HASH: found, TROUBLE: None})
        thread = threading.Thread(target=self._play, args=(stopped, answer))
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def _play(self, stopped: threading.Event, answer: Answers) -> None:
        told: dict[str, str] = {}
        with closing(Admin(self.control_plane.cluster)) as admin:
            while not stopped.wait(LOOK_EVERY):
                found = admin.find(self.config_map)
                if found is None:
                    continue
                current = found["metadata"].get("annotations", {}).get(HASH, "")
                text = found.get("data", {}).get("scheduler-config.yaml", "")
                for name in [name for name in self.replicas if current and told.get(name) != current]:
                    path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
                    admin.patch(path, {"metadata": {"annotations": answer(current, text)}})
                    told[name] = current

    def killed_at_random(self, seconds: float, seed: int) -> int:
        """Start and kill the operator again and again; returns how often."""
        moments, kills, deadline = random.Random(seed), 0, time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self.log.open("ab") as file, subprocess.Popen(self.command(), stdout=file, stderr=file) as process:
                time.sleep(1.2 + moments.random() * 1.5)  # it takes a second to start
                process.kill()
                kills += 1
        return kills
