"""Our chart and our images on real nodes, and what a person does with a release of it."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from images.build import build
from images.order import Wishes
from kit.commands import Command
from kit.control_plane import KIND, ControlPlane, name_for_this_run, sweep
from localcluster import lifecycle, record
from localcluster.paths import REPOSITORY

NAMESPACE, RELEASE = "pilotage", "demo"
CHART = str(REPOSITORY / "charts" / "pilotage")
SCHEDULER = "i-scheduler"
OWN = {"image": {"tag": "dev", "pullPolicy": "Never"}}
Manifest = dict[str, Any]


@contextmanager
def real_nodes(purpose: str, folder: Path) -> Iterator[ControlPlane]:
    """Two real nodes, the stock scheduler, and our images on the nodes; gone when the block ends."""
    name = f"{name_for_this_run()}-{purpose}"
    sweep()
    try:
        subprocess.run(
            [KIND, "create", "cluster", "--shape=full", f"--name={name}", f"--kubeconfig={folder / 'kubeconfig'}"],
            check=True,
        )
        # The archive, not the image by its name: another checkout may build one of that name at any moment.
        for built in build(["scheduler", "operator"], Wishes(tag="dev")):
            subprocess.run([KIND, "load", "image-archive", built.archive, f"--name={name}"], check=True)
        made = ControlPlane(record.load_existing(name))
        made.kubectl("create", "namespace", NAMESPACE)
        made.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
        yield made
    finally:
        lifecycle.delete(name)


class Installed:
    """A release on the cluster, and what a person would do with it."""

    def __init__(self, cluster: ControlPlane, helm: Command, folder: Path) -> None:
        self.cluster, self.helm, self.kubectl = cluster, helm, cluster.kubectl
        self._folder = folder

    def upgrade(self, values: Manifest, *words: str) -> None:
        """Install or upgrade with these values, and wait until everything is up."""
        file = self._folder / "values.yaml"
        file.write_text(yaml.safe_dump(values | OWN))
        here = ("--namespace", NAMESPACE, "--values", str(file), "--wait", "--timeout", "3m")
        self.helm("upgrade", "--install", RELEASE, CHART, *here, *words, timeout=240)

    def profile(self) -> Manifest:
        """Return the profile; empty if there is none yet."""
        found = self.kubectl.attempt("get", "schedulerprofile", SCHEDULER, "-o", "json")
        return {} if found.returncode else dict(json.loads(found.stdout))

    def condition(self, kind: str) -> Manifest:
        found = self.profile().get("status", {}).get("conditions", [])
        return next((dict(each) for each in found if each["type"] == kind), {})

    def is_ready(self) -> bool:
        generation = self.profile().get("metadata", {}).get("generation")
        ready = self.condition("Ready")
        return bool(ready and ready["status"] == "True" and ready["observedGeneration"] == generation)

    def scores(self) -> list[str]:
        """Return the plugins that score for the profile, as its status has them."""
        return list(self.profile().get("status", {}).get("plugins", {}).get("score", []))

    def plugin_files(self) -> list[str]:
        """Return the hashes of the plugin files that run, as the profile's status has them."""
        return list(self.profile().get("status", {}).get("pluginFiles", {}).values())

    def patch(self, *plugins: Manifest) -> float:
        """Give the profile these plugins; returns the seconds until every replica runs them."""
        body = json.dumps({"spec": {"plugins": list(plugins)}})
        started = time.monotonic()
        self.kubectl("patch", "schedulerprofile", SCHEDULER, "--type=merge", "-p", body)
        self.until(self.is_ready, "the profile is Ready")
        return time.monotonic() - started

    def until(self, holds: Callable[[], object], what: str, seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not yet: {what}\n{self.story()}"
            time.sleep(0.1)

    def story(self) -> str:
        told = self.kubectl.attempt("describe", "schedulerprofiles").stdout
        for component in ("operator", "scheduler"):
            selector = f"app.kubernetes.io/component={component}"
            told += self.kubectl.attempt("logs", "-n", NAMESPACE, "-l", selector, "--tail=40").stdout
        return told + self.kubectl.attempt("get", "pods", "-A", "-o", "wide").stdout

    def nodes_of(self, app: str) -> set[str]:
        """Return where the pods of an app run."""
        items = self.kubectl.get("pods", "-l", f"app={app}")["items"]
        alive = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return {item["spec"].get("nodeName", "") for item in alive}

    def roll_out(self, app: str) -> None:
        self.kubectl("rollout", "status", f"deployment/{app}", "--timeout=90s")

    def restart(self, app: str) -> None:
        self.kubectl("rollout", "restart", f"deployment/{app}")
        self.roll_out(app)
        self.until(lambda: len(self.nodes_of(app)) == 1, "the old pods are gone")
