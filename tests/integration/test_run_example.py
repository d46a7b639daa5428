"""The manifests of examples/run work on a real API server, and their rights are enough for everything."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.commands import CommandFailed
from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.looking_glass import LookingGlass, free_port
from pilotage.testing import node_manifest, pod_manifest

EXAMPLES = Path(__file__).parents[2] / "examples" / "run"
OWN_NAMESPACE = "pilotage"
NEEDED = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap")


def manifests() -> list[Any]:
    return list(yaml.safe_load_all((EXAMPLES / "pilotage.yaml").read_text()))


@pytest.fixture(scope="module")
def applied(control_plane: ControlPlane) -> Any:
    """Apply all but the Deployment, which no fake node runs; removed afterwards."""
    wanted = [manifest for manifest in manifests() if manifest["kind"] in NEEDED]
    control_plane.kubectl.apply(*wanted)
    yield {manifest["kind"]: manifest for manifest in wanted}
    listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": wanted})
    control_plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=listing)


@pytest.mark.parametrize(
    "name", [path.name for path in sorted(EXAMPLES.glob("*.yaml")) if path.name != "scheduler.yaml"]
)
def test_the_api_server_accepts_it(control_plane: ControlPlane, applied: Any, name: str) -> None:
    said = control_plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", str(EXAMPLES / name))
    assert "server dry run" in said
    assert "violate PodSecurity" not in said


def test_its_account_may_do_all_that_the_scheduler_does(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, applied: Any, tmp_path: Path
) -> None:
    """The scheduler leads, binds, refuses and evicts with the rights of the example, and nothing is forbidden to it."""
    config = tmp_path / "config.yaml"
    config.write_text(applied["ConfigMap"]["data"]["config.yaml"])
    kubeconfig, port = account_kubeconfig(control_plane, tmp_path), free_port()
    fake_nodes(node_manifest("example", cpu="2"))
    flags = (f"--kubeconfig={kubeconfig}", f"--config={config}", f"--secure-port={port}", "--leader-elect=true")
    with control_plane.pilotage(*flags) as scheduler, LookingGlass(control_plane.cluster, port) as glass:
        glass.until_ready()
        low, high = (priority_class(control_plane, name, value) for name, value in (("low", 10), ("high", 100)))
        create(control_plane, namespace, "first", cpu="1500m", priority_class=low)
        wait_for(control_plane, namespace, "first", "Ready")
        create(control_plane, namespace, "second", cpu="1500m", priority_class=high)
        create(control_plane, namespace, "never", cpu="100")
        wait_for(control_plane, namespace, "second", "Ready")
        wait_for(control_plane, namespace, "never", "PodScheduled=false")
        assert control_plane.kubectl.get("lease", OWN_NAMESPACE, "-n", OWN_NAMESPACE)["spec"]["holderIdentity"]
        refused = [labels for name, labels in glass.metrics() if 'code="403"' in labels or 'code="401"' in labels]
        assert refused == []
        assert not re.findall(r".*forbidden.*", scheduler.log.read_text())


def account_kubeconfig(control_plane: ControlPlane, folder: Path) -> Path:
    """Return how the service account of the example reaches the API server."""
    token = control_plane.kubectl("create", "token", "pilotage-scheduler", "-n", OWN_NAMESPACE).strip()
    document = yaml.safe_load(control_plane.kubeconfig.read_text())
    document["users"] = [{"name": document["users"][0]["name"], "user": {"token": token}}]
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


def priority_class(control_plane: ControlPlane, name: str, value: int) -> str:
    name = f"run-example-{name}"
    with suppress(CommandFailed):
        control_plane.kubectl("create", "priorityclass", name, f"--value={value}")
    return name


def create(control_plane: ControlPlane, namespace: str, name: str, **fields: Any) -> None:
    control_plane.create([pod_manifest(name, namespace=namespace, scheduler="pilotage", **fields)])


def wait_for(control_plane: ControlPlane, namespace: str, name: str, condition: str) -> None:
    control_plane.kubectl("-n", namespace, "wait", f"pod/{name}", f"--for=condition={condition}", "--timeout=60s")
