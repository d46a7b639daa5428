"""`make demo`: Pilotage installed on a real cluster, a policy that keeps pods waiting, and its toggle."""

import json
import shutil
import time

import click

from localcluster import demo_build, demo_ground, demo_install, demo_processes, record
from localcluster.demo_shell import CONTEXT, NAME, explain, kubectl, show, tool, until

LABEL = "priority.lixueduan.com"
PROFILE = ("schedulerprofile", "i-scheduler")
WEB = ("-l", "app=web")
DESCRIBE = ("describe", "pods", *WEB, "--show-events")
ON = {"spec": {"plugins": [{"name": "Priority", "weight": 10}]}}
OFF = {"spec": {"plugins": [{"name": "Priority", "enabled": False}]}}
NEXT = f"""
It is yours now; try:
  hack/kubectl --context {CONTEXT} get schedulerprofiles
  hack/kubectl --context {CONTEXT} describe schedulerprofile i-scheduler
  hack/kubectl --context {CONTEXT} apply -f examples/profiles/bin-packing.yaml
  hack/kubectl --context {CONTEXT} scale deployment/web --replicas 6

Remove it with: make demo-down
"""


@click.group()
def demo() -> None:
    """The demonstration behind `make demo`."""


@demo.command()
def up() -> None:
    """Install Pilotage on its own cluster and change its policy; continues an existing demo."""
    with demo_ground.ours() as elsewhere:
        _up(elsewhere)


def _up(elsewhere: str) -> None:
    # 1. Where it runs, and everything that has to be built: after this, every command answers at once.
    ground = demo_ground.find_ground(NAME)
    built = demo_build.build_all(ground)

    # 2. The cluster, with Pilotage on it.
    if elsewhere and record.load(NAME):
        click.echo(
            f"The demo of {elsewhere} is running; there is one for each user, and it continues with this folder's code."
        )
    demo_install.create(NAME, ground)
    demo_install.install(NAME, ground, built)

    # 3. What it does.
    kubectl("wait", "--for=condition=Ready", "/".join(PROFILE), "--timeout=120s")
    show("get", "schedulerprofiles")
    first, second = _start_over()
    _wait_for_a_label()
    _label(first, second)
    _toggle()
    click.echo(NEXT)


@demo.command()
def down() -> None:
    """Remove the demonstration and everything it started."""
    elsewhere = demo_ground.started_elsewhere()
    demo_processes.stop(NAME)
    tool("localcluster", "delete", "cluster", "--name", NAME)
    shutil.rmtree(record.folder_of(NAME), ignore_errors=True)
    demo_ground.forget()
    whose = f"the demo that {elsewhere} brought up" if elsewhere else "the demo"
    click.echo(f"{whose} was removed; built programs and images stay in the cache")


def _start_over() -> tuple[str, str]:
    """Undo the changes of an earlier demo; returns two nodes."""
    first, second = kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()[-2:]
    kubectl("delete", "deployment", "web", "--ignore-not-found", "--wait")
    kubectl("label", "nodes", "--all", f"{LABEL}-")
    kubectl("patch", *PROFILE, "--type=merge", "-p", json.dumps(ON))
    _acknowledged()
    return first, second


def _wait_for_a_label() -> None:
    """Show pods that wait, and why."""
    show("apply", "-f", "examples/demo/web.yaml")
    until("does not have label", *DESCRIBE)
    show("get", "pods", *WEB)
    why = next(line.strip() for line in kubectl(*DESCRIBE).splitlines() if "FailedScheduling" in line)
    click.echo(f"\n$ kubectl {' '.join(DESCRIBE)} | grep FailedScheduling\n{why}")
    explain(kubectl("get", "pods", *WEB, "-o", "jsonpath={.items[0].metadata.name}"))


def _label(first: str, second: str) -> None:
    """Show that they go where the label is, and to the higher one of two."""
    show("label", "node", first, f"{LABEL}=10")
    _show_where()
    show("label", "node", second, f"{LABEL}=20")
    show("rollout", "restart", "deployment/web")
    _show_where()


def _show_where() -> None:
    kubectl("rollout", "status", "deployment/web", "--timeout=120s")
    wanted = int(kubectl("get", "deployment/web", "-o", "jsonpath={.spec.replicas}"))
    while len(kubectl("get", "pods", *WEB, "-o", "name").split()) > wanted:
        time.sleep(0.2)  # those that were replaced go within a second
    show("get", "pods", *WEB, "-o", "wide")


def _toggle() -> None:
    """Switch the plugin off, and show that the next pods go elsewhere, too."""
    show("patch", *PROFILE, "--type=merge", "-p", json.dumps(OFF))
    seconds = _acknowledged()
    replicas = kubectl("get", *PROFILE, "-o", "jsonpath={.status.replicas}")
    click.echo(f"\nAcknowledged by {replicas} replicas after {seconds:.1f} s; no pod was restarted.")
    show("scale", "deployment/web", "--replicas=6")
    _show_where()
    show("get", "schedulerprofiles")


def _acknowledged() -> float:
    """Wait until all replicas run the newest spec; returns the seconds that took."""
    generation = kubectl("get", *PROFILE, "-o", "jsonpath={.metadata.generation}")
    ready = (
        '{.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].observedGeneration}'
    )
    return until(f"True {generation}", "get", *PROFILE, "-o", f"jsonpath={ready}")
