"""The real kube-scheduler asks our plugins, as an extender, where its pods should go."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from pilotage.testing import node_manifest, pod_manifest

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"

ONLY_EVEN = '''
from pilotage.plugin import STATIC, Filter, Rejection


class OnlyEven(Filter):
    """Keep pods on nodes with an even number."""

    depends_on = STATIC

    def filter(self, cycle, pod, node):
        return None if int(node.name[-1]) % 2 == 0 else Rejection("the node is odd")
'''

# Only our plugins have a word: kube-scheduler asks its own ones itself.
OURS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}
    filter: {enabled: [{name: OnlyEven}]}
    score: {enabled: [{name: NameScore}]}
"""

THEIRS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}}}
leaderElection: {{leaderElect: false}}
extenders:
- {{urlPrefix: "{url}", filterVerb: filter, prioritizeVerb: prioritize, weight: 100, nodeCacheCapable: {cached}{more}}}
"""

PROGRAM = "from pilotage.cli.extender import command; command()"


@contextmanager
def extender(folder: Path, *options: str) -> Iterator[str]:
    """Run `pilotage extender` with our plugins; gives its URL."""
    (folder / "only_even.py").write_text(ONLY_EVEN)
    (folder / "ours.yaml").write_text(OURS)
    command = [sys.executable, "-c", PROGRAM, f"--config={folder / 'ours.yaml'}", "--port=0"]
    command += [f"--plugin-dir={EXAMPLES}", f"--plugin-dir={folder}", *options]
    with (
        (folder / "extender.log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("serving on "), (folder / "extender.log").read_text()
            yield line.split()[-1]
        finally:
            process.terminate()
    assert process.returncode == 0


@pytest.mark.parametrize(
    "live",
    [pytest.param(False, marks=pytest.mark.full), True],
    ids=["from the nodes in the question", "from its own view, and binds"],
)
def test_our_plugins_decide(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path, live: bool
) -> None:
    names = fake_nodes(*(node_manifest(f"ext-{number}") for number in range(1, 6)))
    options = [f"--kubeconfig={control_plane.kubeconfig}"] if live else []
    with extender(tmp_path, *options) as url:
        theirs = THEIRS.format(
            kubeconfig=control_plane.cluster.identity_kubeconfig("scheduler"),
            url=url,
            cached=str(live).lower(),
            more=", preemptVerb: preempt, bindVerb: bind" if live else "",
        )
        (tmp_path / "theirs.yaml").write_text(theirs)
        with control_plane.kube_scheduler(f"--config={tmp_path / 'theirs.yaml'}"):
            pods = [pod_manifest(f"any-{number}", namespace=namespace) for number in range(3)]
            odd = pod_manifest("odd", namespace=namespace, node_selector={"kubernetes.io/hostname": names[2]})
            control_plane.create([*pods, odd])
            decided = wait_until_decided(control_plane, namespace, len(pods) + 1)
    assert {name: node for name, (node, _) in decided.items()} == {
        "any-0": "ext-4",
        "any-1": "ext-4",
        "any-2": "ext-4",
        "odd": "",
    }
    assert decided["odd"][1].startswith("0/5 nodes are available: 1 the node is odd, 4 node(s) didn't match")
    agents = {agent.partition("/")[0] for agent in binders(control_plane, namespace)}
    assert agents == ({"pilotage"} if live else {"kube-scheduler"})


def wait_until_decided(control_plane: ControlPlane, namespace: str, count: int) -> dict[str, tuple[str, str]]:
    """Return the node and the message of every pod, once all have one or the other."""
    deadline = time.monotonic() + 120
    while True:
        listed: dict[str, Any] = json.loads(control_plane.kubectl("get", "pods", "-n", namespace, "-o", "json"))
        found = {pod["metadata"]["name"]: (pod["spec"].get("nodeName", ""), _message(pod)) for pod in listed["items"]}
        # While the extender still fills its view of the cluster, an error stands there.
        if len([1 for node, message in found.values() if node or message.startswith("0/")]) == count:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def _message(pod: dict[str, Any]) -> str:
    return next((each.get("message", "") for each in pod["status"].get("conditions", [])), "")


def binders(control_plane: ControlPlane, namespace: str) -> set[str]:
    """Return the programs that bound pods of a namespace."""
    records = map(json.loads, control_plane.audit_log.read_text().splitlines())
    about = [(record, record.get("objectRef", {})) for record in records]
    return {
        record["userAgent"]
        for record, target in about
        if target.get("subresource") == "binding" and target.get("namespace") == namespace
    }
