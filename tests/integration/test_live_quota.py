"""Elastic quotas on a live control plane, watched at every moment: what is lent comes back, no max is exceeded.

PILOTAGE_QUOTA_ROUNDS=100 says for how long quotas, pods and edits are played at random.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from kit.quota_definition import quotas_defined
from kit.quota_play import Bounds, QuotaPlay
from kit.tiers import tiered
from pilotage.testing import node_manifest

PRIORITIES = {"quota-low": 10, "quota-high": 1000}
OVER_MAX = "Pod {pod} is rejected in PreFilter because ElasticQuota {quota} is more than Max"
NOTHING_TO_BORROW = "total ElasticQuota used is more than min"
# What else makes room in the profile: nothing, or what every profile has by default.
PROFILES = {
    "in the place of DefaultPreemption": {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]},
    "beside DefaultPreemption": {},
}


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: ControlPlane) -> Iterator[None]:
    """The kind, the scheduler's rights that the chart gives with the plugin, and priorities."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    with quotas_defined(control_plane):
        classes = [{**head, "metadata": {"name": name}, "value": value} for name, value in PRIORITIES.items()]
        control_plane.kubectl.apply(*classes)
        yield
        control_plane.kubectl("delete", "priorityclass", *PRIORITIES)


@pytest.fixture
def play(control_plane: ControlPlane, namespace: str) -> Iterator[QuotaPlay]:
    """Pods and quotas; whatever is played, no pod brings a quota above its max."""
    with QuotaPlay(control_plane.cluster, namespace) as playing:
        yield playing
    assert playing.violations == []


@pytest.fixture(params=tiered(PROFILES, full=["beside DefaultPreemption"]))
def profile(request: pytest.FixtureRequest, namespace: str, tmp_path: Path) -> str:
    """A profile with quotas; gives the flag that names it."""
    return configuration(tmp_path, namespace, PROFILES[request.param])


@pytest.fixture
def plain(namespace: str, tmp_path: Path) -> str:
    """The profile that the plugin's page recommends."""
    return configuration(tmp_path, namespace, next(iter(PROFILES.values())))


def configuration(folder: Path, scheduler: str, post_filter: object) -> str:
    """Write a configuration with a profile that knows quotas; returns the flag that names it."""
    plugins = {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}, "postFilter": post_filter}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podMaxBackoffSeconds": 1,
        "profiles": [{"schedulerName": scheduler, "plugins": plugins}],
    }
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    return f"--config={file}"


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{n}" for n in range(count)]


def two_teams(play: QuotaPlay) -> None:
    """Give red and blue four of eight cores each, of which red may have six, and blue all."""
    for team, most in {"red": 6, "blue": 8}.items():
        play.team(team)
        play.quota(team, 4, most)


def test_what_is_idle_is_borrowed_and_comes_back_when_the_lender_asks(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, profile: str
) -> None:
    fake_nodes(*(node_manifest(f"lent-{n}", cpu=4) for n in "ab"))
    with control_plane.pilotage(profile):
        two_teams(play)
        play.create("red", *names("red", 8))
        play.until(lambda: len(play.running("red")) == 6, "red has borrowed two cores")
        waiting = sorted(set(names("red", 8)) - play.running("red"))
        for name in waiting:
            pod = f"{play.namespace('red')}/{name}"
            rejected = OVER_MAX.format(pod=pod, quota=play.namespace("red"))
            assert f"{rejected} (cpu: 7 used with this pod, 6 allowed)" in play.until_refused("red", name)
        play.create("blue", *names("blue", 4))
        play.until(lambda: len(play.running("blue")) == 4, "blue has what it is sure of")
        play.until_rest()
        play.create("blue", "one-more")
        assert NOTHING_TO_BORROW in play.until_refused("blue", "one-more")
    assert len(play.running("red")) == 4
    assert [team for team, _ in play.gone] == ["red", "red"]


@pytest.mark.full
def test_priorities_do_not_reach_across_quotas(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, profile: str
) -> None:
    fake_nodes(*(node_manifest(f"far-{n}", cpu=4) for n in "ab"))
    with control_plane.pilotage(profile):
        two_teams(play)
        play.create("red", *names("red", 6), priority_class="quota-high")
        play.until(lambda: len(play.running("red")) == 6, "red has borrowed two cores")
        play.create("blue", *names("blue", 4), priority_class="quota-low")
        play.until(lambda: len(play.running("blue")) == 4, "the less important pods of blue have what it is sure of")
        play.create("red", "important", priority_class="quota-high")
        assert NOTHING_TO_BORROW in play.until_refused("red", "important")
        play.until_rest()
        assert (len(play.running("red")), play.running("blue")) == (4, set(names("blue", 4)))
        # Within one quota the more important one goes first.
        play.create("blue", "urgent", priority_class="quota-high")
        play.until(lambda: "urgent" in play.running("blue"), "the most important pod of blue runs")
        play.until(lambda: len(play.running("blue")) == 4, "another one of blue has made room")
    assert [team for team, _ in play.gone] == ["red", "red", "blue"]


@pytest.mark.full
@pytest.mark.timeout(300)
def test_many_pods_at_once_never_exceed_a_max(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, audit: Audit, plain: str, namespace: str
) -> None:
    fake_nodes(*(node_manifest(f"many-{n}", cpu=32) for n in range(8)))
    namespaces = [play.namespace(team) for team in ("red", "blue")]
    with (
        audit(serves={"system:kube-scheduler": [namespace]}, namespaces=namespaces, wait_limit=0) as running,
        control_plane.pilotage(plain),
    ):
        for team in ("red", "blue"):
            play.team(team)
            play.quota(team, 50, 60)
        for team in ("red", "blue"):
            play.create(team, *names(team, 150))
        play.until_rest()
        assert (len(play.running("red")), len(play.running("blue"))) == (50, 50)
        # Red came first and had borrowed: no more of its pods went than that.
        assert {team for team, _ in play.gone} <= {"red"}
        assert len(play.gone) <= 10
        # One goes, another comes: at no time are there two in its place.
        play.delete("red", *sorted(play.running("red"))[:30])
        play.until_rest()
    assert sum(play.used(play.pods()).values()) == 100
    assert running.report["violations"] == []


@pytest.mark.full
def test_one_quota_holds_for_several_namespaces_together(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, plain: str
) -> None:
    fake_nodes(node_manifest("shared", cpu=32))
    with control_plane.pilotage(plain):
        for team in ("red", "green"):
            play.team(team, colour="warm")
        play.team("grey")
        play.quota("red", 6, 6, shared_with=["green"], colour="warm")
        for team in ("red", "green", "grey"):
            play.create(team, *names(team, 5))
        play.until_rest()
        assert (len(play.running("red", "green")), len(play.running("grey"))) == (6, 5)
        play.until(lambda: all((play.messages("red") | play.messages("green")).values()), "it is told why pods wait")
        told = play.messages("red") | play.messages("green")
        assert len(told) == 4
        for text in told.values():
            assert (
                f"ElasticQuota {play.namespace('red')} is more than Max (cpu: 7 used with this pod, 6 allowed)" in text
            )
        # A namespace that is not the quota's any more: its pods have no limit, and what they had is free.
        play.quotas["red"] = Bounds(6, 6, frozenset({"red"}))
        play.label("green", colour=None)
        play.until(lambda: len(play.running("red", "green")) == 10, "there is room for all")


@pytest.mark.full
def test_a_quota_for_a_priority_class_lends_and_gets_back_within_its_namespace(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, plain: str
) -> None:
    fake_nodes(*(node_manifest(f"class-{n}", cpu=8) for n in "ab"))
    with control_plane.pilotage(plain):
        play.team("red")
        play.quota("red", 4, 8)
        play.quota("red", 4, 4, of_class="quota-high")
        play.create("red", *names("plain", 6), priority_class="quota-low")
        play.until(lambda: len(play.running("red")) == 6, "the plain ones have borrowed two cores")
        urgent = set(names("urgent", 5))
        play.create("red", *sorted(urgent), priority_class="quota-high")
        play.until(lambda: len(play.running("red") & urgent) == 4, "the urgent ones have what they are sure of")
        play.until_rest()
        waiting = sorted(urgent - play.running("red"))
        quota = f"{play.namespace('red')}/quota-high"
        play.until(lambda: quota in play.message("red", waiting[0]), "it is told which quota is at its max")
        assert "is more than Max (cpu: 5 used with this pod, 4 allowed)" in play.message("red", waiting[0])
    assert (len(play.running("red")), len(waiting)) == (8, 1)
    assert [name.split("-")[0] for _, name in play.gone] == ["plain", "plain"]


@pytest.mark.full
def test_what_is_lent_comes_back_from_several_nodes_at_once(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, profile: str
) -> None:
    fake_nodes(*(node_manifest(f"wide-{n}", cpu=4) for n in "abc"))
    with control_plane.pilotage(profile):
        for team, least in {"red": 2, "blue": 4}.items():
            play.team(team)
            play.quota(team, least, 6)
        play.create("red", *names("red", 6))
        play.until(lambda: len(play.running("red")) == 6, "red has borrowed four cores")
        most = max(Counter(pod.node for pod in play.pods()).values())
        assert most < 4  # on no node are there as many as have to go
        play.create("blue", "large", cpu=4)
        play.until(lambda: play.running("blue"), "blue has all that it is sure of, at one place")
        play.until_rest()
    assert len(play.running("red")) == 2
    assert [team for team, _ in play.gone] == ["red"] * 4


@pytest.mark.full
def test_a_quota_counts_the_pods_that_were_there_before_it(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, plain: str
) -> None:
    fake_nodes(node_manifest("before", cpu=32))
    with control_plane.pilotage(plain):
        play.team("red")
        play.create("red", *names("red", 3))
        play.until(lambda: len(play.running("red")) == 3, "three pods run without a quota")
        play.quota("red", 3, 3)
        play.create("red", "next")
        said = play.until_refused("red", "next")
        assert f"{play.namespace('red')} is more than Max (cpu: 4 used with this pod, 3 allowed)" in said
        play.delete("red", "red-0")
        play.until(lambda: "next" in play.running("red"), "the next one has the place of another")
    assert len(play.running("red")) == 3


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_scheduler_that_is_killed_counts_right_when_it_is_back(
    control_plane: ControlPlane, play: QuotaPlay, fake_nodes: Nodes, plain: str
) -> None:
    fake_nodes(*(node_manifest(f"back-{n}", cpu=32) for n in range(4)))
    with control_plane.pilotage(plain) as first:
        play.team("red")
        play.quota("red", 40, 40)
        play.create("red", *names("early", 60))
        play.until(lambda: play.running("red"), "the first pods are bound")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
    play.create("red", *names("late", 20))
    with control_plane.pilotage(plain):
        play.until_rest()
        play.delete("red", *sorted(play.running("red"))[:10])
        play.until_rest()
    assert play.used(play.pods())["red"] == 40


@pytest.mark.timeout(1200)
def test_pods_and_quotas_at_random_agree_with_a_recount(
    control_plane: ControlPlane,
    play: QuotaPlay,
    fake_nodes: Nodes,
    audit: Audit,
    plain: str,
    namespace: str,
    at_length: bool,
) -> None:
    """One node, so that whatever was lent can come back at one place."""
    rounds = int(os.environ.get("PILOTAGE_QUOTA_ROUNDS", "60" if at_length else "6"))
    fake_nodes(node_manifest("random", cpu=200, pods=500))
    random = Random(2026)
    teams = ["red", "green", "blue"]
    namespaces = [play.namespace(team) for team in teams]
    with (
        audit(serves={"system:kube-scheduler": [namespace]}, namespaces=namespaces, wait_limit=0) as running,
        control_plane.pilotage(plain),
    ):
        for team in teams:
            play.team(team)
            play.quota(team, 5, 10)
        for number in range(rounds):
            for team in random.sample(teams, 2):
                play.create(team, *names(f"{team}-{number}", random.randint(1, 8)), cpu=random.randint(1, 3))
            for pod in random.sample(pods := play.pods(), len(pods) // 3):
                play.delete(pod.team, pod.name)
            play.until_rest()  # where the recount from the API agrees with every decision
            edited = random.choice(teams)
            least = random.randint(0, 8)
            play.quota(edited, least, least + random.randint(0, 8))
            play.until_rest()
    assert len(play.gone) > 0
    assert running.report["violations"] == []
    assert running.report["seen"]["bindings"] > rounds
