"""What is recorded: a release with two replicas, a plugin file that is edited, and the pods before and after it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from kit.admin import Admin
from kit.control_plane import ControlPlane
from kit.release import TO_HOME_NODES, Release, home_nodes
from localcluster.paths import REPOSITORY
from pilotage.config.handshake import text_hash
from pilotage.testing import node_manifest, pod_manifest
from recording.shell import Shell
from recording.terminal import Line

NAMESPACE = RELEASE = "pilotage"
PROFILE, SOURCE, FILE = "batch", "my-plugins", "name_score.py"
BEFORE = (REPOSITORY / "examples" / "plugins" / FILE).read_text()
EDIT = "return min", "return 100 - min"
SPEC = {"plugins": [{"name": "NameScore", "weight": 100}]}
VALUES = {"scheduler": {"createProfile": False, **TO_HOME_NODES}, "operator": TO_HOME_NODES}
# Written as a person does, one line of the file in one line.
MANIFEST = f"""apiVersion: v1
kind: ConfigMap
metadata:
  name: {SOURCE}
  namespace: {NAMESPACE}
  labels: {{pilotage.dev/plugins: {RELEASE}}}
data:
  {FILE}: |
{indent(BEFORE, "    ")}"""
PATIENCE = 60.0  # seconds
READY = "Acknowledged"
NODES = "custom-columns=POD:.metadata.name,NODE:.spec.nodeName"


def play(plane: ControlPlane, folder: Path) -> list[Line]:
    """Play it on an empty control plane; gives what a person at a terminal sees."""
    with _release(plane, folder), closing(Admin(plane.cluster)) as admin:
        _write_files(folder)
        plane.kubectl("apply", "-f", str(folder / "my-plugins.yaml"), "-f", str(folder / "batch.yaml"))
        _until_it_runs(admin, BEFORE)
        plane.kubectl("apply", "-f", str(folder / "web-1.yaml"))
        plane.kubectl("wait", "pod/web-1", "--for=condition=PodScheduled", "--timeout=60s")
        shell = Shell(folder, Path(plane.cluster.binaries["kubectl"]), plane.kubeconfig)
        shell.run(f"sed -i.old 's/{EDIT[0]}/{EDIT[1]}/' my-plugins.yaml")
        shell.run("diff my-plugins.yaml.old my-plugins.yaml", may_fail=True)
        with shell.behind(f"kubectl get schedulerprofile {PROFILE} --watch"):
            shell.until(READY)
            shell.start_clock()
            shell.run("kubectl apply -f my-plugins.yaml")
            _until_it_runs(admin, BEFORE.replace(*EDIT))
            shell.until(READY, times=2)
            shell.run("kubectl apply -f web-2.yaml")
            shell.run("kubectl wait pod/web-2 --for=condition=PodScheduled")
            shell.run(f"kubectl get pods -o {NODES}")
            shell.run(f"kubectl get schedulerprofile {PROFILE} -o yaml | grep -e configHash -e {FILE}")
            shell.run(f"kubectl describe pods -n {NAMESPACE} | grep config-hash")
        return shell.lines


@contextmanager
def _release(plane: ControlPlane, folder: Path) -> Iterator[Release]:
    """Two nodes for pods, and an installed chart whose programs run as processes."""
    plane.kubectl("create", "namespace", NAMESPACE)
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=30s")
    plane.fake_nodes([*home_nodes("home"), *(node_manifest(name) for name in ("n1", "n2"))])
    release = Release(plane, NAMESPACE, RELEASE, folder, 4)
    release.install(values=VALUES)
    with ExitStack() as stack:
        with plane.kube_scheduler():
            plane.kubectl("-n", NAMESPACE, "rollout", "status", "deployment/pilotage-scheduler", "--timeout=60s")
        for component in ("operator", "scheduler"):
            stack.enter_context(release.processes(component))
        yield release


def _write_files(folder: Path) -> None:
    api = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile"}
    (folder / "my-plugins.yaml").write_text(MANIFEST)
    _write(folder / "batch.yaml", {**api, "metadata": {"name": PROFILE}, "spec": SPEC})
    for name in ("web-1", "web-2"):
        _write(folder / f"{name}.yaml", pod_manifest(name, scheduler=PROFILE, cpu="100m"))


def _write(file: Path, content: Any) -> None:
    file.write_text(yaml.safe_dump(content, sort_keys=False))


def _until_it_runs(admin: Admin, text: str) -> None:
    """Wait until both replicas have acknowledged this text."""
    wanted = {f"{SOURCE}/{FILE}": text_hash(text)}
    deadline = time.monotonic() + PATIENCE
    while True:
        profile = admin.find(f"/apis/pilotage.dev/v1alpha1/schedulerprofiles/{PROFILE}") or {}
        status = profile.get("status", {})
        reasons = {each["type"]: each["reason"] for each in status.get("conditions", [])}
        if status.get("pluginFiles") == wanted and reasons.get("Ready") == READY and status.get("replicas") == "2/2":
            return
        assert time.monotonic() < deadline, f"the file does not run: {status}"
        time.sleep(0.02)
