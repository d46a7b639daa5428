"""`make demo`: a whole cluster on this machine, something that runs on it, and what to try next."""

import os
import subprocess
import sys

import click

from cluster.binaries import kubernetes, wanted_kubernetes
from cluster.build import ensure
from cluster.errors import Problem
from cluster.paths import HACK, REPOSITORY
from cluster.progress import Step

NAME = "pilotage-demo"
CONTEXT = f"kind-{NAME}"
EXAMPLE = REPOSITORY / "examples" / "ask-the-api.yaml"
IMAGE = "localhost/pilotage-scheduler:dev"

NEXT = f"""
The stock kube-scheduler placed these pods. It is your cluster now; try:
  hack/kubectl --context {CONTEXT} get pods --all-namespaces -o wide
  hack/kubectl --context {CONTEXT} logs deployment/ask-the-api --all-pods
  hack/kubectl --context {CONTEXT} scale deployment/ask-the-api --replicas 6
  hack/kubectl --context {CONTEXT} describe pods -l app=ask-the-api

Remove it with: make demo-down
"""


@click.group()
def demo() -> None:
    """The demonstration behind `make demo`."""


@demo.command()
def up() -> None:
    """Bring up real nodes with a Deployment of our own image; goes on with a demo that is already there."""
    _tool("images", "build", "scheduler")
    if NAME not in _tool("cluster", "get", "clusters", show=False).split():
        _tool("cluster", "create", "cluster", "--name", NAME)
    _tool("cluster", "load", "docker-image", IMAGE, "--name", NAME)
    with Step(f"running {EXAMPLE.name}"):
        _kubectl("apply", "-f", str(EXAMPLE))
        _kubectl("rollout", "status", "deployment/ask-the-api", "--timeout=120s")
    _show("get", "nodes", "-o", "wide")
    _show("get", "pods", "-l", "app=ask-the-api", "-o", "wide")
    _show("logs", "deployment/ask-the-api", "--tail=2")
    click.echo(NEXT)


@demo.command()
def down() -> None:
    """Remove the demonstration and everything it started."""
    _tool("cluster", "delete", "cluster", "--name", NAME)
    click.echo("the demo is gone; built programs and images stay in the cache")


def _tool(package: str, *words: str, show: bool = True) -> str:
    """Run one of our own tools, which is the real kind where a Docker engine answers; it speaks for itself."""
    environment = os.environ | {"PYTHONPATH": str(HACK)}
    output = None if show else subprocess.PIPE
    done = subprocess.run(
        [sys.executable, "-m", package, *words], env=environment, stdout=output, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout or ""


def _show(*words: str) -> None:
    click.echo(f"\n$ kubectl {' '.join(words)}\n{_kubectl(*words)}", nl=False)


def _kubectl(*words: str) -> str:
    kubectl = ensure(kubernetes(wanted_kubernetes())) / "kubectl"
    done = subprocess.run([kubectl, f"--context={CONTEXT}", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Problem(f"kubectl {' '.join(words)} failed: {done.stderr.strip()}; start over with: make demo-down demo")
    return done.stdout
