"""Who writes a profile tries to get the scheduler's own token: refused, and nothing is sent, whoever is fooled.

Helm installs the chart; scheduler and operator are the real programs with the accounts of the chart.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.release import TO_HOME_NODES, Process, Release, home_nodes
from pilotage.config.handshake import CONFIGURATION

SCHEDULER = "guarded"
ATTACK = "attack"
VALUES = {
    "scheduler": {"name": SCHEDULER, "replicaCount": 1, "leaderElect": False, **TO_HOME_NODES},
    "operator": TO_HOME_NODES,
}


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """Give the address of somebody who takes whatever they are sent, and what that was."""
    got: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append(self.headers.get("Authorization", "nothing"))
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def release(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path) -> Iterator[Release]:
    """An installed release, whose programs are still to be started."""
    fake_nodes(*home_nodes(namespace))
    found = Release(control_plane, namespace, "guarded", tmp_path, 4)
    with ExitStack() as stack:
        stack.callback(found.helm, "uninstall", found.name, "--namespace", namespace)
        stack.callback(found.kubectl, "delete", "schedulerprofile", ATTACK, "--ignore-not-found")
        found.install(values=VALUES)
        with control_plane.kube_scheduler():
            found.kubectl(
                "-n", namespace, "rollout", "status", "deployment/guarded-pilotage-scheduler", "--timeout=60s"
            )
        yield found


def attack(release: Release, address: str) -> dict[str, Any]:
    """Return a spec that has the scheduler send the token of its account to an address."""
    account = yaml.safe_load(release.kubeconfig("scheduler").read_text())["users"][0]["user"]["token"]
    file = release._folder / "token"  # which in a pod is in /var/run/secrets/kubernetes.io/serviceaccount
    file.write_text(account)
    provider = {"type": "Prometheus", "address": address, "tokenFile": str(file)}
    plugin = {"name": "TargetLoadPacking", "args": {"metricProvider": provider, "refreshSeconds": 1}}
    return {"schedulerName": ATTACK, "plugins": [plugin]}


def condition(release: Release, name: str, kind: str) -> dict[str, Any]:
    found = release.kubectl.attempt("get", "schedulerprofile", name, "-o", "json")
    said = json.loads(found.stdout).get("status", {}).get("conditions", ()) if found.returncode == 0 else ()
    return next((each for each in said if each["type"] == kind), {})


def apply_attack(release: Release, spec: dict[str, Any]) -> None:
    api = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": ATTACK}}
    release.kubectl.apply(api | {"spec": spec | {"instance": f"{release.namespace}/{release.name}"}})


def test_the_schedulers_own_token_stays_where_it_is(release: Release) -> None:
    with ExitStack() as stack:
        address, got = stack.enter_context(listening())
        spec = attack(release, address)
        with release.processes("operator") as operators:
            running: list[Process] = [*operators, *stack.enter_context(release.processes("scheduler"))]
            release.until(
                lambda: condition(release, SCHEDULER, "Ready").get("status") == "True", "the release is ready", running
            )
            # 1. The operator refuses the profile, with the reason.
            apply_attack(release, spec)
            release.until(
                lambda: condition(release, ATTACK, "Accepted").get("status") == "False" or got, "it is refused", running
            )
            accepted = condition(release, ATTACK, "Accepted")
            assert (accepted["status"], accepted["reason"]) == ("False", "ForbiddenService"), got
            assert "tokenFile: only files below /etc/pilotage/credentials" in accepted["message"]
            assert condition(release, ATTACK, "Applied")["status"] == "False"
        assert got == []
        # 2. Whoever writes the configuration past it is not obeyed either, and others are served on.
        write_past_the_operator(release, spec)
        scheduler = running[-1]
        release.until(lambda: "may be read for a profile" in scheduler.said or got, "the scheduler has it", [scheduler])
        assert got == []
        assert f"load metrics of {address}" in scheduler.said
        assert scheduler.program.poll() is None


def write_past_the_operator(release: Release, spec: dict[str, Any]) -> None:
    name = f"{release.name}-pilotage-config"
    found = release.kubectl.get("configmap", name, "-n", release.namespace)
    text = yaml.safe_load(found["data"][CONFIGURATION])
    plugin = spec["plugins"][0]
    text["profiles"].append(
        {
            "schedulerName": ATTACK,
            "plugins": {"multiPoint": {"enabled": [{"name": plugin["name"]}]}},
            "pluginConfig": [{"name": plugin["name"], "args": plugin["args"]}],
        }
    )
    patch = {"data": {CONFIGURATION: yaml.safe_dump(text)}}
    release.kubectl("patch", "configmap", name, "-n", release.namespace, "--type=merge", "-p", json.dumps(patch))
