"""`pilotage what-if`, `capacity` and `drain-sim`: what they print, with which code they end, and why they cannot."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from kit.small_api import SmallApi, small_api
from kit.stand_in_kubectl import config
from kit.what_if_ground import deployment
from pilotage.cli import main
from pilotage.testing import node_manifest, pod_manifest

Pilotage = Callable[..., Result]
Write = Callable[..., str]

EXAMPLES = Path(__file__).parents[3] / "examples/what-if"
CLUSTER = ("--source", EXAMPLES / "cluster.yaml")
WEB, REQUEST = EXAMPLES / "web.yaml", EXAMPLES / "request.yaml"


def test_new_pods_and_new_nodes(pilotage: Pilotage) -> None:
    result = pilotage("what-if", *CLUSTER, "-f", WEB, "--copies", 4, "--add-nodes", 2, "--like", "n1")
    assert result.exit_code == 3
    summary, header, row = result.stdout.splitlines()[:3]
    assert summary == "11 of 12 pods fit (now: 7 of 12). 1 eviction."
    assert header.split("  ")[0] == "PODS OF"
    assert "+2 n1" in header
    assert row.split()[:6] == ["Deployment", "shop/web", "12", "7", "11", "cpu"]
    assert "batch/batch-1" in result.stdout


def test_a_request_in_a_file_and_its_answer_for_programs(pilotage: Pilotage) -> None:
    result = pilotage("what-if", *CLUSTER, "-f", REQUEST, "-o", "json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["kind"], answer["verdict"], answer["source"]) == ("WhatIfAnswer", "fits", "file")
    assert answer["pods"] == {"asked": 8, "placed": 8, "waiting": 0}
    assert yaml.safe_load(pilotage("what-if", *CLUSTER, "-f", REQUEST, "-o", "yaml").stdout)["pods"] == answer["pods"]
    assert {name: each["before"]["unit"] for name, each in answer["use"].items()} == {
        "cpu": "m",
        "memory": "bytes",
        "pods": "pieces",
    }


def test_how_many_fit(pilotage: Pilotage) -> None:
    result = pilotage("capacity", *CLUSTER, "-f", WEB, "--add-nodes", 2, "--like", "n3")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "4 copies fit (now: 1); the next one is stopped by cpu."
    assert [line.split()[:2] for line in lines[1:]] == [["WITH", "COPIES"], ["now", "1"], ["+2", "n3"]]
    assert pilotage("capacity", *CLUSTER, "-f", WEB, "--cordon", "n3", "--cordon", "n2").exit_code == 3


def test_a_drain_that_is_only_played(pilotage: Pilotage) -> None:
    result = pilotage("drain-sim", "n1", *CLUSTER)
    assert result.exit_code == 0
    assert result.stdout.startswith("1 of 1 pod fits.\n")
    assert "shop/shop-1  drain n1  shop/shop" in result.stdout
    assert "logs" not in result.stdout, "pods of a DaemonSet end with their node"
    assert pilotage("drain-sim", "-l", "pool=old", *CLUSTER).stdout.startswith("2 of 2 pods fit. 1 eviction.\n")


FLAGS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "cordon": (("--cordon", "n1"), {"cordon": {"nodes": ["n1"]}}),
    "drain": (("--drain", "n1"), {"drain": {"nodes": ["n1"]}}),
    "removed by name": (("--remove-nodes", "n1"), {"removeNodes": {"nodes": ["n1"]}}),
    "removed by labels": (("--remove-nodes", "pool=old"), {"removeNodes": {"selector": "pool=old"}}),
    "a label": (("--label", "n1:disk=nvme"), {"label": {"nodes": ["n1"], "labels": {"disk": "nvme"}}}),
    "a label less": (("--label", "n1:pool-"), {"label": {"nodes": ["n1"], "labels": {"pool": None}}}),
    "a taint": (
        ("--taint", "n1:a=b:NoSchedule"),
        {"taint": {"nodes": ["n1"], "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}},
    ),
    "a taint less": (("--taint", "n1:a-"), {"taint": {"nodes": ["n1"], "remove": ["a"]}}),
    "an eviction": (("--evict", "shop/shop-1"), {"evict": {"pods": ["shop/shop-1"]}}),
    "a quota": (
        ("--quota", "a/q:cpu=4,memory=1Gi"),
        {"quota": {"namespace": "a", "name": "q", "max": {"cpu": "4", "memory": "1Gi"}}},
    ),
}


@pytest.mark.parametrize(("words", "change"), FLAGS.values(), ids=FLAGS)
def test_each_flag_is_a_change(
    pilotage: Pilotage, write: Write, words: tuple[str, ...], change: dict[str, Any]
) -> None:
    request = write({"kind": "WhatIf", "changes": [change]}, name="request.yaml")
    by_flag, by_file = (pilotage("what-if", *CLUSTER, *given, "-o", "json") for given in (words, ("-f", request)))
    answers = [json.loads(each.stdout) for each in (by_flag, by_file)]
    for answer in answers:
        del answer["seconds"], answer["at"]
    assert answers[0] == answers[1]


PROFILE = """
apiVersion: pilotage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: packing}
spec:
  plugins:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  - {name: NodeResourcesBalancedAllocation, enabled: false}
"""


def test_a_profile_that_does_not_run_yet(pilotage: Pilotage, write: Write) -> None:
    cluster = write(node_manifest("n1", cpu=4), node_manifest("n2", cpu=4), pod_manifest("web", node="n2", cpu=1))
    pod = write(pod_manifest("new", cpu=1), name="pod.yaml")
    words = ("what-if", "--source", cluster, "-f", pod)
    assert pilotage(*words).stdout.splitlines()[2].endswith("n1: 1")
    assert pilotage(*words, "--profile", write(PROFILE, name="profile.yaml")).stdout.splitlines()[2].endswith("n2: 1")


WRONG: dict[str, tuple[tuple[object, ...], str]] = {
    "nothing at all": (
        ("what-if", *CLUSTER),
        "nothing would change; add pods with -f FILE, or change nodes",
    ),
    "copies of nothing": (
        ("what-if", *CLUSTER, "--copies", 2),
        "--copies requires manifests; name them with -f FILE",
    ),
    "new nodes like nothing": (("what-if", *CLUSTER, "--add-nodes", 2), "--add-nodes N and --like NODE go together"),
    "a file that is not there": (("what-if", *CLUSTER, "-f", "no.yaml"), "no.yaml: no such file or folder"),
    "a label that is none": (("what-if", *CLUSTER, "--label", "n1"), "--label n1: use NODE:KEY=VALUE"),
    "a taint that is none": (("what-if", *CLUSTER, "--taint", "n1:a"), "--taint n1:a: use NODE:KEY=VALUE:NoSchedule"),
    "a quota that is none": (("what-if", *CLUSTER, "--quota", "a"), "--quota a: use NAMESPACE:cpu=+2"),
    "a profile that is not there": (
        ("what-if", *CLUSTER, "-f", WEB, "--profile", "batch"),
        "Deployment shop/web: no profile has its schedulerName batch (there is default-scheduler); choose a profile",
    ),
    "no pods to fill with": (
        ("capacity", *CLUSTER),
        "no pods are named; use -f FILE with a Pod, a Deployment, a Job or the like",
    ),
    "two configurations": (
        ("drain-sim", "n1", *CLUSTER, "--config", "a", "--config-map", "b/c"),
        "--config and --config-map exclude each other; use one of them",
    ),
}


@pytest.mark.parametrize(("words", "told"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_answered(pilotage: Pilotage, words: tuple[object, ...], told: str) -> None:
    result = pilotage(*words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr


# ------------------------------------------------------------------------------------------- a cluster that is read


class World:
    """A cluster of two nodes, read through an API server."""

    def __init__(self, api: SmallApi, folder: Path) -> None:
        self.api, self.folder = api, folder
        for name in ("n1", "n2"):
            api.put("nodes", node_manifest(name, cpu="2", memory="4Gi", fake=False))

    async def run(self, *words: str, url: str = "") -> Result:
        """Run the program."""
        file = self.folder / "kubeconfig"
        file.write_text(yaml.safe_dump(config(url or self.api.url, {})))
        result = await asyncio.to_thread(CliRunner().invoke, main, [*words, "--kubeconfig", str(file)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with small_api() as api:
        yield World(api, tmp_path)


async def test_a_cluster_that_is_read_once(world: World) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    pod = pod_manifest("web", namespace="default", cpu="1", node="n1")
    pod["metadata"]["ownerReferences"] = [owner]
    world.api.put("pods", pod)
    result = await world.run("drain-sim", "n1", "-o", "json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["source"], answer["rows"]) == ("local", [{"pod": "default/web", "node": "n2"}])


async def test_a_class_of_the_cluster(world: World) -> None:
    world.api.put("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 10})
    world.api.put("pods", pod_manifest("low", namespace="default", cpu="2", node="n1", spec={"priority": 0}))
    file = world.folder / "web.yaml"
    file.write_text(yaml.safe_dump(deployment(replicas=2, cpu="2", priorityClassName="high")))
    result = await world.run("what-if", "-f", str(file))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("2 of 2 pods fit. 1 pod would be lost: no controller recreates it. 1 eviction.\n")
