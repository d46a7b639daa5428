"""`kubectl pilotage` where it has no rights, no cluster, no scheduler or an old one: a sentence, and code 2.

The API server is a real one, so its refusals are in its own words; Pilotage is not installed.
"""

import time
from pathlib import Path

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.looking_glass import free_port
from kit.person import SECONDS, Person, account_kubeconfig
from pilotage.testing import node_manifest, pod_manifest

DOCTOR = "; kubectl pilotage doctor shows what you may do"
NO_RIGHTS = ("you are not allowed to ", "list ", "kubectl create clusterrolebinding explainer --clusterrole=")
INSTALLED = "the cluster does not serve SchedulerProfiles; is Pilotage installed?"
NONE = "no scheduler answers: there is no scheduler of Pilotage"


@pytest.fixture
def nobody(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Person:
    """Somebody whom the API server knows, and who may do nothing."""
    kubectl = Path(control_plane.cluster.binaries["kubectl"])
    return Person(kubectl, account_kubeconfig(control_plane, namespace, "nobody", tmp_path))


@pytest.fixture
def admin(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes) -> Person:
    """Somebody who may do everything, on a cluster with a node and a pod that waits."""
    fake_nodes(node_manifest(f"{namespace}-n", cpu="4"))
    control_plane.create([pod_manifest("web", namespace=namespace, cpu="6")])
    return Person(Path(control_plane.cluster.binaries["kubectl"]), Path(control_plane.kubeconfig))


def said_by(person: Person, *words: str) -> str:
    """Return the last line of what the program says when it has no answer; before it there are notes at most."""
    done = person.pilotage(*words)
    assert (done.returncode, done.stdout) == (2, ""), done
    *notes, last = done.stderr.splitlines()
    assert all(each.startswith("note: ") for each in notes), notes
    return last


def test_without_rights(nobody: Person, namespace: str) -> None:
    for words in (("queue", "--source=local"), ("status", "--source=local"), ("history", "batch", "--source=local")):
        last = said_by(nobody, *words)
        assert " is forbidden: User " in last, words
        assert last.endswith(DOCTOR), words
    for words in (("drain-sim", "n1"), ("what-if", "--cordon", "n1"), ("explain", "web"), ("top", "--source=local")):
        last = said_by(nobody, *words)
        assert all(part in last for part in NO_RIGHTS), words
        assert f"--serviceaccount={namespace}:nobody" in last, words
    for words in (("queue", "--source=live"), ("top", "plugins"), ("top", "shapes", "--source=live")):
        assert said_by(nobody, *words).startswith("no scheduler answers: pods is forbidden: "), words


def test_without_a_cluster(nobody: Person, tmp_path: Path) -> None:
    document = yaml.safe_load(nobody.kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{free_port()}"
    gone = Person(nobody.kubectl, tmp_path / "gone.kubeconfig")
    gone.kubeconfig.write_text(yaml.safe_dump(document))
    for words in (("queue",), ("status",), ("top",), ("drain-sim", "n1"), ("explain", "web"), ("doctor",)):
        done = gone.pilotage(*words)
        assert done.returncode == 2, words
        [last] = done.stderr.splitlines()
        assert "does not respond: no connection to 127.0.0.1 port" in last, words
        assert last.endswith("Connection refused; check its address, or name another --context"), words
    missing = Person(nobody.kubectl, tmp_path / "missing.kubeconfig")
    assert said_by(missing, "queue").startswith("no cluster is configured: ")


def test_without_pilotage_in_the_cluster(admin: Person, namespace: str) -> None:
    for words in (("status", "--source=local"), ("diff", "batch")):
        assert said_by(admin, *words) == INSTALLED, words
    assert said_by(admin, "history", "web") == f"{INSTALLED}; for a pod write pod/web"
    drain = ("drain-sim", f"{namespace}-n", "--source=live")
    assert [said_by(admin, *words) for words in (("queue", "--source=live"), ("top", "plugins"), drain)] == [NONE] * 3
    # What needs no scheduler is answered.
    assert admin.pilotage("queue", "-n", namespace).returncode == 0
    assert admin.pilotage("top", "shapes", "-n", namespace).returncode == 0


def test_a_scheduler_without_a_read_api(admin: Person, control_plane: ControlPlane) -> None:
    """The port of an old release serves metrics and nothing else; before it listens there is nobody."""
    port = free_port()
    address = f"https://127.0.0.1:{port}"
    assert said_by(admin, "queue", "--source", address).startswith(f"no scheduler answers: the scheduler at {address} ")
    with control_plane.pilotage(f"--secure-port={port}", "--api-port=0"):
        old = "older releases have no read API; upgrade, or use --source local"
        for words in (("queue", "-A"), ("top", "plugins"), ("drain-sim", "n1")):
            deadline = time.monotonic() + SECONDS  # until it listens, and has learned who may ask
            while not (last := said_by(admin, *words, "--source", address)).endswith(old):
                assert time.monotonic() < deadline, (words, last)
                time.sleep(0.5)
            assert last.startswith("no scheduler answers: "), words
