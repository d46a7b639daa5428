"""Every plugin of the family, switched on and off by one field of a SchedulerProfile, and seen in where pods go.

Helm installs the chart once; scheduler and operator are the real programs with the accounts of the chart.
"""

import uuid
from collections.abc import Iterator

import pytest

from kit.control_plane import ControlPlane
from kit.foreign_definitions import SECCOMP_PROFILES
from kit.plugin_ground import PROFILES, PluginGround, plugin_ground
from kit.plugin_scenes import SCENES, Scene
from kit.release import home_nodes

FAMILY = {
    "Coscheduling", "CapacityScheduling", "NodeResourcesAllocatable", "NodeResourceTopologyMatch",
    "PreemptionToleration", "TargetLoadPacking", "LoadVariationRiskBalancing", "LowRiskOverCommitment", "Peaks",
    "NetworkOverhead", "TopologicalSort", "SySched", "NodeMetadata", "PodState", "QOSSort", "CrossNodePreemption",
    "Priority", "ScoreByNameLength", "Sticky",
}  # fmt: skip
# Each shows one more plugin the same way, or other live tests play it: `make test` has no time for it.
LEFT_OUT = {
    "NodeResourcesAllocatable", "PreemptionToleration", "LoadVariationRiskBalancing", "LowRiskOverCommitment", "Peaks",
    "SySched", "NodeMetadata", "PodState", "ScoreByNameLength", "CapacityScheduling", "CrossNodePreemption",
    "TopologicalSort",
}  # fmt: skip


@pytest.fixture(scope="module")
def ground(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginGround]:
    """A release with all definitions, whose only profile is Ready."""
    kubectl, namespace = control_plane.kubectl, f"test-{uuid.uuid4().hex[:10]}"
    definition = f"crd/{SECCOMP_PROFILES['metadata']['name']}"
    kubectl("create", "namespace", namespace)
    kubectl.apply(SECCOMP_PROFILES)
    kubectl.until_established(definition)
    homes = home_nodes(namespace)
    control_plane.fake_nodes(homes)
    with plugin_ground(control_plane, namespace, tmp_path_factory.mktemp("plugins")) as found:
        yield found
    kubectl("delete", definition, "--ignore-not-found")
    kubectl("delete", "node", *(home["metadata"]["name"] for home in homes), "--wait=false")
    kubectl("delete", "namespace", namespace, "--wait=false")


def test_no_plugin_of_the_family_is_left_out() -> None:
    assert {scene.plugin for scene in SCENES} == FAMILY


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "scene",
    [pytest.param(each, id=each.plugin, marks=[pytest.mark.full] * (each.plugin in LEFT_OUT)) for each in SCENES],
)
def test_a_plugin_is_switched_and_pods_go_elsewhere(ground: PluginGround, namespace: str, scene: Scene) -> None:
    with ground.scene(scene, namespace) as played:
        for enabled in (True, False, True):
            played.play(enabled=enabled)
            played.until_seen(scene.on if enabled else scene.off)
    assert all(process.program.poll() is None for process in ground.processes)


@pytest.mark.timeout(300)
def test_an_order_of_the_queue_that_not_all_profiles_share_is_refused_until_it_is_the_only_one(
    ground: PluginGround,
) -> None:
    api = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile"}
    ground.admin.post(PROFILES, api | {"metadata": {"name": "other"}, "spec": {}})
    try:
        ground.until(lambda: ground.condition("Ready", "other")[0] == "True", "the other profile is Ready")
        ground.ask_for({"name": "QOSSort"})
        ground.until(lambda: ground.condition("Accepted")[0] == "False", "it is refused")
        _, reason, message = ground.condition("Accepted")
        assert reason == "DifferentQueueSort"
        assert "QOSSort sorts the queue here, and the other profiles sort it with PrioritySort" in message
        assert ground.condition("Ready", "other")[0] == "True"
    finally:
        ground.admin.delete(f"{PROFILES}/other")
    ground.until(lambda: ground.condition("Ready")[0] == "True", "it is taken once it is alone")
    ground.switch()
