"""A plugin file that declares a custom resource of its own: what is missing is told, and pods follow its objects.

The chart brings examples/plugins/rack_power.py by its values; definition and right come later.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.plugin_ground import PluginGround, plugin_ground
from kit.racks import (
    DEFINITION,
    ENTRY,
    FILE,
    LAST_POD,
    MALFORMED,
    NO_DEFINITION,
    NO_RIGHT,
    NOT_ENOUGH,
    PLUGIN,
    RACK,
    RACKS,
    RULE,
    WATTS,
    define,
    rack,
    rule_in,
)
from kit.release import TO_HOME_NODES, home_nodes
from kit.stage import Stage
from pilotage.testing import node_manifest


def values(plugin: str = PLUGIN, *rules: dict[str, Any]) -> dict[str, Any]:
    own = {"name": "switched", "replicaCount": 1, "customPlugins": {FILE: plugin}, **TO_HOME_NODES}
    return {
        "scheduler": own,
        "operator": TO_HOME_NODES,
        "crds": {"keep": False},
        "rbac": {"extraRules": list(rules)},
    }


@pytest.fixture(scope="module")
def ground(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginGround]:
    """A release with the plugin file, and nothing of what the plugin needs."""
    kubectl, namespace = control_plane.kubectl, f"test-{uuid.uuid4().hex[:10]}"
    kubectl("create", "namespace", namespace)
    kubectl("delete", DEFINITION, "--ignore-not-found", "--timeout=60s")
    homes = home_nodes(namespace)
    control_plane.fake_nodes(homes)
    with plugin_ground(control_plane, namespace, tmp_path_factory.mktemp("racks"), values()) as found:
        yield found
    kubectl("delete", DEFINITION, "--ignore-not-found", "--timeout=60s")
    kubectl("delete", "node", *(home["metadata"]["name"] for home in homes), "--wait=false")
    kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def stage(ground: PluginGround, namespace: str, fake_nodes: Nodes) -> Iterator[Stage]:
    """Two racks with a node each, and a profile that has the plugin."""
    define(ground.release.kubectl)
    ground.release.install(values=values(PLUGIN, RULE))
    for short, used in (("low", 11_900), ("high", 4_000)):
        name = f"{namespace}-{short}"
        ground.admin.post(RACKS, rack(name, 12_000, used))
        fake_nodes(node_manifest(name, labels={RACK: name}))
    ground.switch(ENTRY)
    yield Stage(ground.admin, namespace)
    ground.switch()
    for short in ("low", "high"):
        ground.admin.delete(f"{RACKS}/{namespace}-{short}")
    assert all(process.program.poll() is None for process in ground.processes)
    assert not any("Traceback" in process.said for process in ground.processes)


def change_rack(ground: PluginGround, stage: Stage, short: str, **spec: Any) -> None:
    ground.admin.patch(f"{RACKS}/{stage.namespace}-{short}", {"spec": spec})


def create(ground: PluginGround, stage: Stage, name: str, watts: int) -> None:
    stage.create(name, scheduler=ground.scheduler, cpu="10m", annotations={WATTS: str(watts)})


def until_bound(stage: Stage, name: str, short: str) -> None:
    stage.until(lambda: stage.node_of(name), f"{name} is bound", 60)
    assert stage.node_of(name) == f"{stage.namespace}-{short}"


def message(stage: Stage, name: str) -> str:
    conditions = (stage.pod(name) or {}).get("status", {}).get("conditions", ())
    return next((str(each.get("message", "")) for each in conditions if each["type"] == "PodScheduled"), "")


def until_told(ground: PluginGround, stage: Stage, name: str, words: str) -> None:
    ground.until(lambda: words in message(stage, name), f"{name} says {words!r}")
    assert stage.node_of(name) is None


@pytest.mark.timeout(300)
def test_what_is_missing_is_told_and_what_runs_goes_on(ground: PluginGround) -> None:
    ground.ask_for(ENTRY)
    ground.until(lambda: ground.condition("Accepted")[1] == "MissingCRD", "the definition is missing")
    assert NO_DEFINITION in ground.condition("Accepted")[2]
    define(ground.release.kubectl)
    ground.until(lambda: ground.condition("Accepted")[1] == "MissingPermission", "the right is missing")
    told = ground.condition("Accepted")[2]
    assert NO_RIGHT in told
    rule = rule_in(told)
    assert rule == RULE, "it can be copied"
    ground.release.install(values=values(PLUGIN, rule))
    ground.until(lambda: ground.condition("Ready")[0] == "True", "it has all that it needs")
    ground.switch()


@pytest.mark.timeout(300)
def test_pods_follow_the_objects(ground: PluginGround, stage: Stage) -> None:
    create(ground, stage, "small", 50)
    create(ground, stage, "large", 700)
    until_bound(stage, "small", "high")  # which has more left
    until_bound(stage, "large", "high")  # which alone has enough
    noted = ground.admin.get(f"{RACKS}/{stage.namespace}-high")["metadata"]["annotations"]
    assert noted[LAST_POD].startswith(f"{stage.namespace}/")  # written before a bind
    stage.create("plain", scheduler=ground.scheduler, cpu="10m")  # of which the plugin says nothing
    stage.until(lambda: stage.node_of("plain"), "it is bound", 60)


@pytest.mark.timeout(300)
def test_a_change_wakes_who_waits_for_it(ground: PluginGround, stage: Stage) -> None:
    create(ground, stage, "huge", 9_000)
    until_told(ground, stage, "huge", NOT_ENOUGH)
    change_rack(ground, stage, "low", watts=30_000)
    until_bound(stage, "huge", "low")


@pytest.mark.timeout(300)
def test_an_object_that_cannot_be_understood_is_told_until_it_can(ground: PluginGround, stage: Stage) -> None:
    change_rack(ground, stage, "high", watts="lots")
    create(ground, stage, "large", 700)
    until_told(ground, stage, "large", MALFORMED)
    said = f"rackpowers.power.example.com {stage.namespace}-high cannot be decoded: Expected `int`, got `str`"
    ground.until(lambda: any(said in process.said for process in ground.processes), "the log says why")
    change_rack(ground, stage, "high", watts=12_000)
    until_bound(stage, "large", "high")


@pytest.mark.timeout(300)
def test_an_edited_file_declares_its_kind_again_and_nothing_is_lost(ground: PluginGround, stage: Stage) -> None:
    create(ground, stage, "huge", 9_000)
    until_told(ground, stage, "huge", NOT_ENOUGH)
    edited = PLUGIN.replace(NOT_ENOUGH, "a rack that is too weak")
    ground.release.install(values=values(edited, RULE))
    until_told(ground, stage, "huge", "a rack that is too weak")
    change_rack(ground, stage, "low", watts=30_000)
    until_bound(stage, "huge", "low")
