"""A policy that does harm is taken back by itself: the real programs, installed by Helm, with plugins of the values."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.release import TO_HOME_NODES, Process, Release, home_nodes
from pilotage.testing import node_manifest, pod_manifest

SCHEDULER = "careful"
BREAKS = '''
from pilotage.plugin import Filter


class Breaks(Filter):
    """Fails for every pod."""

    def filter(self, cycle, pod, node):
        raise ValueError("it cannot work")
'''
SPEC = {"schedulerName": SCHEDULER, "rollout": {"progressDeadlineSeconds": 5}}
VALUES: dict[str, Any] = {
    "scheduler": {"createProfile": False, "customPlugins": {"breaks.py": BREAKS}, **TO_HOME_NODES},
    "operator": TO_HOME_NODES,
    "profiles": [{"name": SCHEDULER, "spec": SPEC}, {"name": "bystander"}],
}


@pytest.fixture
def release(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path
) -> Iterator[tuple[Release, list[Process]]]:
    """An installed release whose profiles are Ready."""
    fake_nodes(*home_nodes(namespace), node_manifest(f"{namespace}-0"))
    found = Release(control_plane, namespace, "careful", tmp_path, 4)
    with ExitStack() as stack:
        stack.callback(uninstall, found)
        found.install(values=VALUES)
        with control_plane.kube_scheduler():
            found.kubectl(
                "-n", namespace, "rollout", "status", "deployment/careful-pilotage-scheduler", "--timeout=60s"
            )
        processes = [
            process for name in ("operator", "scheduler") for process in stack.enter_context(found.processes(name))
        ]
        found.until(lambda: status(found, SCHEDULER, "Ready") == "True", "the profile is Ready", processes)
        yield found, processes


def uninstall(release: Release) -> None:
    release.helm("uninstall", release.name, "--namespace", release.namespace)
    release.kubectl("delete", "crd", "schedulerprofiles.pilotage.dev", "--ignore-not-found")


def condition(release: Release, profile: str, kind: str) -> dict[str, Any]:
    found = release.kubectl.attempt("get", "schedulerprofile", profile, "-o", "json")
    conditions = json.loads(found.stdout).get("status", {}).get("conditions", []) if not found.returncode else []
    return next((each for each in conditions if each["type"] == kind), {})


def status(release: Release, profile: str, kind: str) -> str:
    return str(condition(release, profile, kind).get("status", ""))


@pytest.mark.full
def test_a_plugin_that_fails_on_every_pod_is_taken_back(release: tuple[Release, list[Process]]) -> None:
    found, processes = release
    names = [f"pod-{number}" for number in range(6)]
    good = found.profile(SCHEDULER)
    found.until(lambda: "lastGood" in found.profile(SCHEDULER)["status"], "the spec has proved itself", processes)

    # 1. It is accepted and applied: nothing is wrong with it until there are pods.
    patch = json.dumps({"spec": {"plugins": [{"name": "Breaks"}]}})
    found.kubectl("patch", "schedulerprofile", SCHEDULER, "--type=merge", "-p", patch)
    found.until(lambda: is_acknowledged(found), "all replicas run it", processes)
    pods = [pod_manifest(name, namespace=found.namespace, scheduler=SCHEDULER) for name in names]
    found.control_plane.create(pods)

    # 2. Its pods cannot be scheduled: the last good spec comes back, and they are.
    found.until(lambda: status(found, SCHEDULER, "RolledBack") == "True", "it is taken back", processes)
    told = condition(found, SCHEDULER, "RolledBack")
    assert told["reason"] == "PluginFailing"
    assert "Breaks failed: " in told["message"]
    assert "it cannot work" in told["message"]
    found.until(lambda: len(bound(found)) == len(names), "all pods are bound", processes)
    assert condition(found, SCHEDULER, "Ready")["reason"] == "RolledBack"
    assert status(found, "bystander", "Ready") == "True"
    about = "--field-selector=involvedObject.kind=SchedulerProfile"
    events = found.kubectl.get("events", "-n", "default", about)["items"]
    assert {"Acknowledged", "PluginFailing"} <= {event["reason"] for event in events}

    # 3. The same spec is not tried again; another one is.
    before = found.profile(SCHEDULER)["status"]["configHash"]
    found.kubectl("annotate", "schedulerprofile", SCHEDULER, "look=again")
    found.kubectl(
        "patch",
        "schedulerprofile",
        SCHEDULER,
        "--type=merge",
        "-p",
        json.dumps({"spec": good["spec"] | {"plugins": None}}),
    )
    found.until(lambda: status(found, SCHEDULER, "Ready") == "True", "it is Ready again", processes)
    assert found.profile(SCHEDULER)["status"]["configHash"] == before
    assert all(process.program.poll() is None for process in processes)


def is_acknowledged(release: Release) -> bool:
    generation = release.profile(SCHEDULER)["metadata"]["generation"]
    ready = condition(release, SCHEDULER, "Ready")
    return bool(ready.get("status") == "True" and ready.get("observedGeneration") == generation)


def bound(release: Release) -> list[str]:
    items = release.kubectl.get("pods", "-n", release.namespace, "--field-selector=spec.nodeName!=")["items"]
    return [item["metadata"]["name"] for item in items if item["metadata"]["name"].startswith("pod-")]
