"""A whole run on a cluster in memory: who ends where, who goes for whom, and that it ends."""

from typing import Any

import pytest

from kit.tiny_plugins import Alpha, Before, Likes
from pilotage.app import simulation
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.load import load
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Filter, Permit, Plugin, PostFilter, QueuedPod, QueueSort, Reserve
from pilotage.framework.api.verdicts import Nominated, PluginFailed, Rejection, Verdicts
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.model.pod import Pod
from pilotage.offline.results import Result
from pilotage.offline.simulation import Simulation
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.profiles import Profile, build_profiles
from pilotage.testing import make_node, make_pod, plugin_set_of
from pilotage.testing.gangs import make_group, make_members

CATALOGUE = built_in()
DEFAULT = load("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", CATALOGUE)


class InOrder(QueueSort):
    """First come, first served."""

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        return one.timestamp < other.timestamp


def default(**options: Any) -> Simulation:
    return simulation(build_profiles(DEFAULT, CATALOGUE), **options)


def with_only(*plugins: Plugin, **options: Any) -> Simulation:
    profile = Profile("default-scheduler", plugin_set_of(InOrder(), *plugins), 0)
    return simulation({profile.scheduler_name: profile}, **options)


def run(simulated: Simulation, *objects: Any) -> dict[str, Result]:
    for found in objects:
        simulated.add(found)
    return {result.name: result for result in simulated.run()}


def test_pods_are_placed_and_waiting_ones_told_why() -> None:
    found = run(default(), make_node("n1", cpu="1"), make_pod("a", cpu="800m"), make_pod("b", cpu="800m"))
    assert (found["a"].node, found["a"].message) == ("n1", "")
    assert found["b"].node is None
    assert found["b"].message == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )


def test_running_pods_are_counted_and_not_reported() -> None:
    found = run(
        default(),
        make_node("n1", cpu="1"),
        make_pod("r", node="n1", cpu="800m"),
        make_pod("a", cpu="800m", priority=-1),
    )
    assert set(found) == {"a"}
    assert found["a"].node is None


def test_no_nodes() -> None:
    found = run(default(), make_pod("a"))
    assert found["a"].message == "no nodes available to schedule pods"


# ------------------------------------------------------------------------------------------------------- eviction


def test_a_preemptor_ends_on_its_node_and_its_victims_are_told() -> None:
    found = run(
        default(),
        make_node("n1", cpu="1"),
        make_pod("running", node="n1", cpu="800m", priority=1),
        make_pod("urgent", uid="u", cpu="800m", priority=10),
    )
    assert list(found) == ["urgent"]
    urgent = found["urgent"]
    assert (urgent.node, urgent.victims, urgent.message) == ("n1", ("default/running",), "")
    assert urgent.nominated_node == "", "a nomination that is kept is none any more"


def test_who_leaves_already_is_gone_at_once_too() -> None:
    leaving = make_pod("r", node="n1", cpu="800m", priority=1, metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"})
    found = run(default(), make_node("n1", cpu="1"), leaving, make_pod("urgent", cpu="800m", priority=10))
    assert (found["urgent"].node, found["urgent"].victims) == ("n1", ("default/r",))


def test_a_pod_of_this_run_that_is_evicted_is_told_so() -> None:
    class Late(Filter):
        """Lets the urgent pod in once the other one is there."""

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
            if pod.name == "urgent":
                return None if any(other.name == "extra" for other in node.pods.values()) else Rejection("too early")
            return None if pod.name != "extra" or node.pods else Rejection("too early")

    class Evict(PostFilter):
        """Evicts the modest pod for the urgent one."""

        def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Any:
            there = any(other.name == "modest" for node in cycle.nodes for other in node.pods.values())
            if pod.name == "urgent" and there:
                return Nominated("n1", ("default/modest", "default/nobody"), "found")
            raise PluginFailed("no")

    found = run(
        with_only(Late(), Evict()), make_node("n1"), *(make_pod(n, uid=n) for n in ("modest", "urgent", "extra"))
    )
    assert found["modest"].node is None
    assert found["modest"].message == "Preempted by pod urgent on node n1"


def test_eviction_does_not_go_on_for_ever() -> None:
    class Never(Filter):
        """Lets only the first pod in."""

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
            return None if pod.name == "first" else Rejection("no")

    class Greedy(PostFilter):
        """Evicts whoever it finds, and some who are not there."""

        def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Any:
            victims = [other.key for node in cycle.nodes for other in node.pods.values()]
            return Nominated("n1", (*victims, "default/ghost"), "found")

    pods = [make_pod("first"), *(make_pod(f"p{i}") for i in range(5))]
    found = run(with_only(Never(), Greedy()), make_node("n1"), *pods)
    assert [result.node for result in found.values()] == [None] * 6
    assert all("found" in found[f"p{i}"].message for i in range(5))


def test_a_chain_of_ever_more_urgent_pods_ends_with_the_most_urgent() -> None:
    pods = [make_pod(f"p{i}", cpu="800m", priority=i) for i in range(5)]
    found = run(default(), make_node("n1", cpu="1"), *pods)
    assert [name for name, result in found.items() if result.node] == ["p4"]


# -------------------------------------------------------------------------------------------------- another try


def test_a_pod_that_needs_another_one_is_placed_once_that_is_there() -> None:
    beside = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "leader"}}}
            ]
        }
    }
    found = run(
        default(),
        make_node("n1"),
        make_node("n2"),
        make_pod("follower", affinity=beside, priority=10),
        make_pod("leader", labels={"app": "leader"}),
    )
    assert found["follower"].node == found["leader"].node is not None
    assert found["follower"].message == ""


def test_a_pod_that_nothing_helps_is_tried_only_when_something_happened() -> None:
    asked: list[str] = []

    class Stubborn(Filter):
        """Never lets the pods in that are stuck."""

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
            asked.append(pod.name)
            return Rejection("no") if pod.name == "stuck" else None

    found = run(with_only(Stubborn()), make_node("n1"), make_pod("stuck"), make_pod("a"), make_pod("b"))
    assert found["stuck"].message == "0/1 nodes are available: 1 no."
    assert 2 <= asked.count("stuck") <= 3


@pytest.mark.parametrize("count", [1, 30])
def test_pods_in_back_off_do_not_hold_up_the_run(count: int) -> None:
    class Turns(Filter):
        """Lets a pod in only after every other one."""

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
            return None if len(node.pods) >= count - 1 - int(pod.name[1:]) else Rejection("not my turn")

    pods = [make_pod(f"p{i}") for i in range(count)]
    found = run(with_only(Turns()), make_node("n1"), *pods)
    assert [result.node for result in found.values()] == ["n1"] * count


# ------------------------------------------------------------------------------------------------- other endings


def test_gated_pods_are_told_their_gates() -> None:
    found = run(default(), make_node("n1"), make_pod("gated", gates=["a", "b"]), make_pod("free"))
    assert found["free"].node == "n1"
    assert found["gated"].node is None
    assert "a" in found["gated"].message
    assert "gates" in found["gated"].message


def test_an_error_is_told_once_and_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    class Fragile(Before):
        """Fails about one pod."""

        def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
            asked.append(pod.name)
            if pod.name == "bad":
                raise PluginFailed("broken")

    found = run(with_only(Fragile()), make_node("n1"), make_pod("bad"), make_pod("good"))
    assert found["bad"].message == 'running PreFilter plugin "Fragile": broken'
    assert found["good"].node == "n1"
    assert asked == ["bad", "good"]
    assert caplog.messages == [], "it is in the result"


def test_pods_of_other_schedulers_are_left_alone() -> None:
    simulated = default()
    found = run(simulated, make_node("n1"), make_pod("ours"), make_pod("theirs", scheduler="volcano"))
    assert set(found) == {"ours"}
    assert [pod.name for pod in simulated.unserved] == ["theirs"]


class Full(Reserve):
    """Has nothing to hold any more."""

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        return Rejection("sold out")


class Forbidden(Permit):
    """Permits nothing."""

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        return Rejection("forbidden")


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param(Full(), "0/1 nodes are available: 1 sold out.", id="nothing to reserve"),
        pytest.param(Forbidden(), "0/1 nodes are available: 1 forbidden.", id="no permission"),
    ],
)
def test_a_pod_that_is_sent_back_waits(plugin: Plugin, message: str) -> None:
    found = run(with_only(plugin), make_node("n1"), make_pod("a"), make_pod("b"))
    assert [(result.node, result.message) for result in found.values()] == [(None, message)] * 2


def test_two_profiles_share_one_cluster() -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    loaded = load(text + "profiles: [{schedulerName: a}, {schedulerName: b}]", CATALOGUE)
    simulated = simulation(build_profiles(loaded, CATALOGUE))
    pods = [make_pod(f"p-{name}", scheduler=name, cpu="600m") for name in ("a", "b")]
    found = run(simulated, make_node("n1", cpu="1"), *pods)
    assert sorted(str(result.node) for result in found.values()) == ["None", "n1"]


# ---------------------------------------------------------------------------------------------------- for people


def test_progress_ends_with_all_pods() -> None:
    seen: list[tuple[int, int]] = []
    simulated = default()
    for found in (make_node("n1"), make_pod("a"), make_pod("b"), make_pod("c", cpu="100")):
        simulated.add(found)
    simulated.run(lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)


def test_the_scores_of_the_chosen_node() -> None:
    likes = Likes(scores={"n1": 10, "n2": 20})
    found = run(with_only(likes, with_scores=True), make_node("n1"), make_node("n2"), make_pod("a"))
    [(name, score)] = found["a"].scores.items()
    assert (name, score.raw, score.weighted) == ("Likes", 20, 20)


def test_an_explanation_of_the_last_try() -> None:
    simulated = with_only(Alpha(about={"n1": Rejection("no")}), explain_pod="a")
    run(simulated, make_node("n1"), make_node("n2"), make_pod("a"), make_pod("b"))
    assert simulated.explanation is not None
    assert [node.rejection is None for node in simulated.explanation.nodes] == [False, True]


@pytest.mark.parametrize("asked", ["gang-0", "gang-1", "gang-2"])
def test_a_pod_that_another_of_its_gang_brings_along_is_explained(asked: str) -> None:
    simulated = with_only(Coscheduling(), NodeResourcesFit(), explain_pod=asked)
    run(simulated, make_node("n1", cpu=2), make_group(minimum=3), *make_members(3, cpu=1))
    assert simulated.explanation is not None
    assert simulated.explanation.gang is not None
    assert (simulated.explanation.gang.needed, simulated.explanation.gang.fitting) == (3, 2)


def test_equal_seeds_give_equal_runs() -> None:
    def nodes(seed: int) -> list[str | None]:
        pods = [make_pod(f"p{i}") for i in range(20)]
        found = run(default(seed=seed), *(make_node(f"n{i}") for i in range(9)), *pods)
        return [result.node for result in found.values()]

    assert nodes(1) == nodes(1)
    assert nodes(1) != nodes(2)


def test_every_plugin_of_a_profile_can_look_things_up() -> None:
    cache, profiles = ClusterCache(), build_profiles(DEFAULT, CATALOGUE)
    engines(profiles, cache)
    plugins = profiles["default-scheduler"].plugin_set.plugins().values()
    assert all(plugin.handle.objects is cache.objects for plugin in plugins)


class TestOnePodOutOfTurn:
    """What would become of one pod now."""

    def decide(self, simulated: Simulation, name: str, *objects: Any) -> Result:
        for found in objects:
            simulated.add(found)
        return simulated.decide_only(f"default/{name}")

    def test_others_that_wait_take_no_place_before_it(self) -> None:
        more_important = make_pod("high", cpu="1", priority=9)
        found = self.decide(default(), "low", make_node("n1", cpu="1"), more_important, make_pod("low", cpu="1"))
        assert found.node == "n1"

    def test_what_is_nominated_to_them_counts(self) -> None:
        nominated = make_pod("high", cpu="1", priority=9, status={"nominatedNodeName": "n1"})
        simulated = default(explain_pod="default/low")
        found = self.decide(simulated, "low", make_node("n1", cpu="1"), nominated, make_pod("low", cpu="1"))
        assert found.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
        assert simulated.explanation is not None
        assert simulated.explanation.nodes[0].rejection is not None

    def test_a_gang_is_decided_as_a_whole(self) -> None:
        text = (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles: [{schedulerName: default-scheduler, plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}}]\n"
        )
        simulated = simulation(build_profiles(load(text, CATALOGUE), CATALOGUE))
        members = [make_pod(f"g{i}", cpu="1", labels={NAME_LABEL: "gang", MIN_LABEL: "3"}) for i in range(3)]
        found = self.decide(simulated, "g0", make_node("n1", cpu="2"), *members)
        assert found.node is None
        assert "the 3 pods that are needed at once do not all fit" in found.message
