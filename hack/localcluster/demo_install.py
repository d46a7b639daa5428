"""How the demo installs Pilotage: with Helm on real nodes, or, where none can run, as processes beside fake ones."""

import json
import subprocess
from collections.abc import Sequence

import click
import yaml

from images.build import Built
from localcluster import demo_processes, record
from localcluster.demo_ground import Ground
from localcluster.demo_shell import CONTEXT, kubectl, show, tool
from localcluster.errors import Problem
from localcluster.paths import REPOSITORY
from localcluster.progress import Step

NAMESPACE = "pilotage"
VALUES = "examples/demo/values.yaml"
CRD = "charts/pilotage/files/crds/schedulerprofiles.pilotage.dev.yaml"
NO_NODES = """
Without root or a Docker engine that can create nodes, no container can run: the nodes are fake, and scheduler and
operator are processes on this machine instead of pods installed by Helm. Everything else is the same.
"""
SHAPES: dict[Ground, list[str]] = {
    "kind": [],
    "own nodes": ["--shape=full"],
    "fake nodes": ["--shape=control-plane"],
}


def create(name: str, ground: Ground) -> None:
    """Create the cluster, unless it is there."""
    if name not in tool("localcluster", "get", "clusters", hidden=True).split():
        tool("localcluster", "create", "cluster", "--name", name, *SHAPES[ground])


def install(name: str, ground: Ground, built: Sequence[Built]) -> None:
    """Install Pilotage into the cluster, or upgrade it."""
    if ground == "fake nodes":
        click.echo(NO_NODES)
        _install_processes(name)
        return
    for image in built:
        tool("localcluster", "load", "image-archive", str(image.archive), "--name", name)
    _helm("upgrade", "--install", "pilotage", "charts/pilotage", "--namespace", NAMESPACE, "--create-namespace",
          "--values", VALUES, "--wait", "--timeout", "3m")  # fmt: skip


def _helm(*words: str) -> None:
    click.echo(f"\n$ helm {' '.join(words)}")
    command = [str(REPOSITORY / "hack" / "helm"), *words, "--kube-context", CONTEXT]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Problem(f"helm failed: {done.stderr.strip()[-800:]}; start over with: make demo-down demo")
    click.echo(done.stdout, nl=False)


def _install_processes(name: str) -> None:
    show("apply", "--server-side", "-f", CRD)
    show("apply", "-f", "examples/demo/fake-nodes.yaml")
    kubectl("apply", "-f", "-", stdin=json.dumps(_deployment()))
    kubectl("-n", NAMESPACE, "rollout", "status", "deployment/pilotage-scheduler", "--timeout=60s")
    with Step("starting scheduler and operator"):
        _start(name)


def _start(name: str) -> None:
    admin = record.load_existing(name).identity_kubeconfig("admin")
    values = record.folder_of(name) / "profiles.yaml"
    values.write_text(yaml.safe_dump(_profiles()))
    flags = ("--namespace", NAMESPACE, "--release", "pilotage", "--values-file", str(values), "--liveness-port", "0")
    demo_processes.start(name, "pilotage-operator", f"--kubeconfig={admin}", *flags)
    following = ("--config-map", f"{NAMESPACE}/pilotage-config", "--secure-port=0", "--leader-elect=false", "--v=2")
    pod = kubectl("-n", NAMESPACE, "get", "pods", "-o", "jsonpath={.items[0].metadata.name}")
    own_pod = {"POD_NAME": pod, "POD_NAMESPACE": NAMESPACE}
    demo_processes.start(name, "pilotage", f"--kubeconfig={admin}", *following, environment=own_pod)


def _profiles() -> list[object]:
    values = yaml.safe_load((REPOSITORY / VALUES).read_text())
    return [{"name": values["scheduler"]["name"], "spec": {"plugins": values["plugins"]["enabled"]}}]


def _deployment() -> dict[str, object]:
    """Return a Deployment whose one fake pod stands for the scheduler's process: the operator asks it what runs."""
    labels = {"app.kubernetes.io/instance": "pilotage", "app.kubernetes.io/component": "scheduler"}
    containers = [{"name": "scheduler", "image": "a-process-on-this-machine"}]
    template = {"metadata": {"labels": labels}, "spec": {"nodeName": "fake-1", "containers": containers}}
    metadata = {"name": "pilotage-scheduler", "namespace": NAMESPACE, "labels": labels}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    return {"apiVersion": "v1", "kind": "List", "items": [namespace, deployment]}
