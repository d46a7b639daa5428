"""`pilotage explain`: what it tells about a pod of a cluster, and why it cannot."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from pilotage.cli import main
from pilotage.config.handshake import CONFIGURATION as KEY
from pilotage.testing import node_manifest, pod_manifest
from testbed.small_api import SmallApi, small_api

NOT_HELPFUL = "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
WAITS = f"0/2 nodes are available: 2 Insufficient cpu. preemption: {NOT_HELPFUL}"
BATCH = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: batch, plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]
"""


class World:
    """A cluster of two nodes with two cores each, and the program."""

    def __init__(self, api: SmallApi, folder: Path) -> None:
        self.api, self.folder = api, folder
        for name in ("n1", "n2"):
            api.put("nodes", node_manifest(name, cpu="2", memory="4Gi", fake=False))

    def pod(self, name: str, **fields: Any) -> None:
        status, metadata = fields.pop("status", {}), fields.pop("metadata", {})
        manifest = pod_manifest(name, **{"namespace": "default", **fields})
        manifest["metadata"] |= metadata
        self.api.put("pods", manifest | {"status": status})

    def config_map(self, text: str, key: str = KEY) -> None:
        self.api.put("configmaps", {"metadata": {"name": "config", "namespace": "pilotage"}, "data": {key: text}})

    async def explain(self, *words: str, url: str = "") -> Result:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": url or self.api.url}}],
            "users": [{"name": "it", "user": {}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        }
        file = self.folder / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        arguments = ["explain", "--kubeconfig", str(file), *words]
        result = await asyncio.to_thread(CliRunner().invoke, main, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with small_api() as api:
        yield World(api, tmp_path)


async def test_a_pod_that_waits(world: World) -> None:
    world.pod("web", cpu="3")
    result = await world.explain("web")
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        f"web  waits: {WAITS}",
        "  NODE  FITS  BECAUSE",
        "  n1    no    NodeResourcesFit: Insufficient cpu (wants 3, 2 of 2 free)",
        "  n2    no    NodeResourcesFit: Insufficient cpu (wants 3, 2 of 2 free)",
    ]


async def test_nothing_is_written(world: World) -> None:
    world.pod("web", cpu="1")
    assert (await world.explain("web")).exit_code == 0
    assert {method for method, _ in world.api.requests} == {"GET"}


async def test_a_pod_that_has_a_node_is_decided_about_as_if_it_had_none(world: World) -> None:
    world.pod("old", cpu="1", node="n2")
    world.pod("web", cpu="1500m", node="n1")
    result = await world.explain("web")
    assert result.exit_code == 0
    assert result.stdout.startswith("web  is on n1; decided again now, it goes to n1\n")
    assert "NodeResourcesFit: Insufficient cpu (wants 1.5, 1 of 2 free)" in result.stdout


async def test_one_that_would_not_fit_any_more_still_has_its_node(world: World) -> None:
    world.pod("web", cpu="3", node="n1")
    result = await world.explain("web")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"web  is on n1; decided again now, it waits: {WAITS}\n")


async def test_what_is_promised_to_others_counts(world: World) -> None:
    world.pod("first", cpu="2", status={"nominatedNodeName": "n1"})
    world.pod("other", cpu="2", node="n2")
    world.pod("web", cpu="1")
    result = await world.explain("web")
    assert result.exit_code == 3
    assert "web  waits: 0/2 nodes are available: 2 Insufficient cpu." in result.stdout


async def test_what_its_scheduler_said_last(world: World) -> None:
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: long ago"}
    world.pod("web", cpu="1", status={"conditions": [told]})
    result = await world.explain("web")
    assert result.stdout.splitlines()[1] == "  Its status says: 0/1 nodes: long ago"


async def test_a_pod_at_the_gate(world: World) -> None:
    world.pod("web", spec={"schedulingGates": [{"name": "later"}]})
    result = await world.explain("web")
    assert result.exit_code == 3
    assert result.stdout.startswith("web  waits: waiting for scheduling gates: [later]\n")


async def test_for_programs(world: World) -> None:
    world.pod("web", namespace="shop", cpu="1", node="n2")
    result = await world.explain("shop/web", "-o", "json")
    found = json.loads(result.stdout)
    assert (found["namespace"], found["currentNode"], found["statusMessage"]) == ("shop", "n2", "")
    assert [node["node"] for node in found["nodes"]] == ["n1", "n2"]


async def test_a_pod_that_is_being_deleted_is_no_longer_placed(world: World) -> None:
    world.pod("web", cpu="1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert (
        "note: the pod is being deleted: no scheduler gives it a node any more" in (await world.explain("web")).stderr
    )


class TestWhoDecides:
    """The configuration of the pod's scheduler."""

    async def test_the_one_that_an_operator_wrote(self, world: World) -> None:
        world.config_map(BATCH)
        world.pod("web", cpu="3", scheduler="batch")
        assert (await world.explain("web")).exit_code == 0  # batch does not look at resources

    async def test_a_named_config_map(self, world: World) -> None:
        world.config_map(BATCH)
        world.pod("web", cpu="3", scheduler="batch")
        assert (await world.explain("web", "--config-map", "pilotage/config")).exit_code == 0

    async def test_a_file(self, world: World) -> None:
        file = world.folder / "batch.yaml"
        file.write_text(BATCH)
        world.pod("web", cpu="3", scheduler="batch")
        assert (await world.explain("web", "--config", str(file))).exit_code == 0

    async def test_the_default_scheduler_that_is_ours(self, world: World) -> None:
        world.config_map(BATCH.replace("batch", "default-scheduler"))
        world.pod("web", cpu="3")
        assert (await world.explain("web")).exit_code == 0

    async def test_the_default_scheduler_if_nobody_may_look_for_another(self, world: World) -> None:
        world.api.refusals["/api/v1/configmaps"] = 403
        world.pod("web", cpu="3")
        assert (await world.explain("web")).exit_code == 3

    async def test_somebody_elses_that_is_broken_is_no_matter(self, world: World) -> None:
        world.config_map("nonsense: [")
        world.pod("web", cpu="3")
        assert (await world.explain("web")).exit_code == 3


class TestWhatIsInTheWay:
    """Each is told in one line, with what to do."""

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            pytest.param(["wep"], 'there is no pod default/wep, or it has ended; did you mean "web"?', id="a slip"),
            pytest.param(["far"], "there is no pod default/far, or it has ended; there is one in shop", id="elsewhere"),
            pytest.param(["zzzzzz"], "there is no pod default/zzzzzz, or it has ended\n", id="nothing like it"),
            pytest.param(["odd"], "which nothing here serves; name the configuration of that scheduler", id="unserved"),
            pytest.param(["web", "--config", "/no.yaml"], "/no.yaml", id="no such file"),
            pytest.param(["web", "--config-map", "x"], "--config-map x: write NAMESPACE/NAME", id="no namespace"),
            pytest.param(["web", "--config-map", "a/b"], "the API server refuses: 404", id="no such ConfigMap"),
            pytest.param(["web", "--config", "a", "--config-map", "b/c"], "leave one out", id="two configurations"),
            pytest.param(["web", "--context", "no"], "no", id="no such context"),
        ],
    )
    async def test_in_the_question(self, world: World, words: list[str], text: str) -> None:
        world.pod("web")
        world.pod("odd", scheduler="odd-scheduler")
        world.pod("far", namespace="shop")
        result = await world.explain(*words)
        assert result.exit_code == 2
        assert text in result.stderr

    async def test_a_config_map_of_something_else(self, world: World) -> None:
        world.config_map("x", key="other")
        world.pod("web")
        result = await world.explain("web", "--config-map", "pilotage/config")
        assert (result.exit_code, result.stderr) == (2, f"pilotage/config: there is no {KEY} in the ConfigMap\n")

    async def test_a_configuration_for_others(self, world: World) -> None:
        world.config_map(BATCH)
        world.pod("web")
        result = await world.explain("web", "--config-map", "pilotage/config")
        assert result.exit_code == 2
        assert "pod default/web waits for the scheduler default-scheduler, which nothing here serves" in result.stderr
        assert "(there are batch)" in result.stderr

    async def test_no_right_to_look_for_the_configuration(self, world: World) -> None:
        world.api.refusals["/api/v1/configmaps"] = 403
        world.pod("web", scheduler="batch")
        result = await world.explain("web")
        assert result.exit_code == 2
        assert "you may not look for the configuration of the scheduler batch (refused by the test)" in result.stderr

    async def test_no_right_to_see_nodes(self, world: World) -> None:
        world.api.refusals["/api/v1/nodes"] = 403
        world.pod("web")
        result = await world.explain("web")
        assert (result.exit_code, result.stderr) == (2, "the API server refuses: 403: refused by the test\n")

    async def test_a_kind_that_is_not_served_has_no_objects(self, world: World) -> None:
        world.api.refusals["/apis/resource.k8s.io"] = 404
        world.pod("web")
        assert (await world.explain("web")).exit_code == 0

    async def test_a_pod_that_cannot_be_understood(self, world: World) -> None:
        world.pod("web", cpu="many")
        result = await world.explain("web")
        assert result.exit_code == 2
        assert "the pod default/web cannot be understood: " in result.stderr

    async def test_nobody_answers(self, world: World) -> None:
        result = await world.explain("web", url="http://127.0.0.1:1")
        assert result.exit_code == 2
        assert "the API server at http://127.0.0.1:1 does not answer: " in result.stderr
