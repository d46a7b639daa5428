"""Nodes of a profile's own: counted in its status, tainted where that is wanted, and nobody else's taint is touched."""

import asyncio
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.scheduler_profiles.resource import PATH as PROFILES
from pilotage.scheduler_profiles.sharing_fields import TAINT
from pilotage_operator.cluster import Refused
from pilotage_operator.node_keeper import NODES, NodeKeeper
from pilotage_operator.profiles.actions import PatchStatus
from pilotage_operator.profiles.own_nodes import NOT_ALLOWED, TAINTED_BY, PatchNode, StoredNode, release_value
from pilotage_operator.settings import settings_for

T = TypeVar("T")
FOREIGN = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
SELECTOR = {"matchLabels": {"pool": "batch"}}


def profile(name: str = "batch", *, taint: bool = True, instance: str = "ns/rel", **fields: Any) -> dict[str, Any]:
    accepted = {"type": "Accepted", "status": "True", "observedGeneration": 1}
    return {
        "metadata": {"name": name, "generation": 1, "resourceVersion": "7"},
        "spec": {"nodes": {"selector": SELECTOR, "taint": taint}},
        "status": {"instance": instance, "conditions": [accepted]},
    } | fields


def node(name: str, *taints: dict[str, str], pool: str = "batch", by: str | None = None) -> dict[str, Any]:
    labels = {"pool": pool} | ({TAINTED_BY: by} if by else {})
    return {"metadata": {"name": name, "resourceVersion": "1", "labels": labels}, "spec": {"taints": list(taints)}}


def only(value: str) -> dict[str, str]:
    return {"key": TAINT, "value": value, "effect": "NoSchedule"}


class FakeCluster:
    """Profiles and nodes, and what is done to them."""

    def __init__(self, profiles: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> None:
        self.profiles, self.nodes = profiles, {each["metadata"]["name"]: each for each in nodes}
        self.asked: list[str] = []
        self.refuses = False

    async def all_of(self, path: str, kind: type[T], selector: str = "") -> list[T]:
        """Answer as an API server does, of whose selectors `a=b` is all that is needed here."""
        self.asked.append(selector or path)
        if path == PROFILES:
            return msgspec.convert(self.profiles, list[kind])  # type: ignore[valid-type]
        assert path == NODES
        key, _, value = selector.partition("=")
        matching = [each for each in self.nodes.values() if each["metadata"]["labels"].get(key) == value]
        return msgspec.convert(matching, list[kind])  # type: ignore[valid-type]

    async def do(self, action: PatchNode | PatchStatus) -> None:
        """Merge a patch into what it is for."""
        if self.refuses:
            raise Refused("no")
        if isinstance(action, PatchStatus):
            (found,) = [each for each in self.profiles if each["metadata"]["name"] == action.name]
            found["status"]["nodes"] = {k: v for k, v in action.patch["status"]["nodes"].items() if v is not None}
            return
        found = self.nodes[action.name]
        assert action.patch["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]
        found["spec"]["taints"] = action.patch["spec"]["taints"] or []
        labels = found["metadata"]["labels"] | action.patch["metadata"]["labels"]
        found["metadata"]["labels"] = {key: value for key, value in labels.items() if value is not None}

    def taints(self, name: str) -> list[dict[str, str]]:
        """Return the taints of a node."""
        taints: list[dict[str, str]] = self.nodes[name]["spec"]["taints"]
        return taints


def keeper(cluster: FakeCluster, *, taint: bool = True) -> NodeKeeper:
    return NodeKeeper(settings_for("ns", "rel", taint_nodes=taint), cluster)


def looked(cluster: FakeCluster, *, taint: bool = True) -> FakeCluster:
    asyncio.run(keeper(cluster, taint=taint).look())
    return cluster


@pytest.mark.parametrize(
    ("profiles", "given_node", "taints"),
    [
        pytest.param([profile()], node("n", FOREIGN), [FOREIGN, only("batch")], id="one that is wanted comes"),
        pytest.param([profile(taint=False)], node("n"), [], id="none where it is not wanted"),
        pytest.param([profile()], node("n", pool="web"), [], id="none on another node"),
        pytest.param(
            [profile(taint=False)],
            node("n", only("batch"), FOREIGN, by="ns.rel"),
            [FOREIGN],
            id="one goes with the wish",
        ),
        pytest.param([], node("n", only("batch"), FOREIGN, by="ns.rel"), [FOREIGN], id="and with the profile"),
        pytest.param(
            [profile()],
            node("n", only("batch"), pool="web", by="ns.rel"),
            [],
            id="and from a node that is no longer its",
        ),
        pytest.param(
            [profile("other")], node("n", only("batch"), by="ns.rel"), [only("other")], id="it changes with the owner"
        ),
        pytest.param([], node("n", only("batch"), by="ns.other"), [only("batch")], id="another release's stays"),
        pytest.param([profile()], node("n", only("mine")), [only("mine")], id="what a person has tainted stays"),
        pytest.param(
            [profile(instance="ns/other")], node("n"), [], id="nothing is done for a profile of another release"
        ),
        pytest.param(
            [profile(spec={"nodes": {"selector": {}, "taint": 1}})], node("n"), [], id="nor for one that is not right"
        ),
        pytest.param(
            [profile("b"), profile("a")], node("n"), [only("a")], id="of two profiles the first by name has a node"
        ),
    ],
)
def test_taints(profiles: list[dict[str, Any]], given_node: dict[str, Any], taints: list[dict[str, str]]) -> None:
    cluster = looked(FakeCluster(profiles, [given_node]))
    assert cluster.taints("n") == taints
    before = msgspec.json.encode(cluster.nodes)
    assert msgspec.json.encode(looked(cluster).nodes) == before  # a second look changes nothing


def test_without_the_right_nothing_is_tainted_and_the_status_says_so() -> None:
    cluster = looked(FakeCluster([profile()], [node("n")]), taint=False)
    assert cluster.taints("n") == []
    assert cluster.profiles[0]["status"]["nodes"] == {"matched": 1, "tainted": 0, "message": NOT_ALLOWED}


def test_the_status_tells_how_many_nodes_there_are() -> None:
    cluster = FakeCluster([profile()], [node("a"), node("b"), node("c", pool="web")])
    looked(looked(cluster))
    assert cluster.profiles[0]["status"]["nodes"] == {"matched": 2, "tainted": 2}
    cluster.profiles[0]["spec"]["nodes"]["taint"] = False
    looked(cluster)
    assert cluster.profiles[0]["status"]["nodes"] == {"matched": 2}


def test_no_node_is_looked_at_where_no_profile_has_any() -> None:
    cluster = looked(FakeCluster([profile(spec={})], [node("n")]), taint=False)
    assert cluster.asked == [PROFILES]


def test_a_spec_that_was_taken_back_does_not_count_but_the_last_good_one_does() -> None:
    taken_back = profile(spec={"nodes": {"selector": {"matchLabels": {"pool": "web"}}, "taint": True}})
    taken_back["status"]["conditions"].append({"type": "RolledBack", "status": "True"})
    taken_back["status"]["lastGood"] = {"generation": 0, "specHash": "x", "spec": profile()["spec"]}
    cluster = looked(FakeCluster([taken_back], [node("batch"), node("web", pool="web")]))
    assert (cluster.taints("batch"), cluster.taints("web")) == ([only("batch")], [])


async def test_trouble_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    cluster = FakeCluster([profile()], [node("n")])
    cluster.refuses = True
    running = asyncio.create_task(keeper(cluster).run())
    await asyncio.sleep(0.05)
    running.cancel()
    assert "the taints of profiles' nodes could not be reconciled, retrying: no" in caplog.text


TAINTS = st.lists(
    st.sampled_from([FOREIGN, only("a"), only("b"), only("gone")]), max_size=2, unique_by=lambda t: t["key"]
)
HELD = st.tuples(TAINTS, st.sampled_from(["batch", "web"]), st.sampled_from([None, "ns.rel", "ns.other"]))


@given(nodes=st.lists(HELD, max_size=5), names=st.lists(st.sampled_from(["a", "b"]), unique=True))
def test_whatever_is_there_others_keep_theirs_and_two_looks_are_enough(
    nodes: list[tuple[list[dict[str, str]], str, str | None]], names: list[str]
) -> None:
    given_nodes = [node(f"n{i}", *taints, pool=pool, by=by) for i, (taints, pool, by) in enumerate(nodes)]
    cluster = looked(FakeCluster([profile(name) for name in names], given_nodes))
    for place, (taints, _, by) in enumerate(nodes):
        now, had = cluster.taints(f"n{place}"), [each for each in taints if each["key"] == TAINT]
        assert [each for each in now if each["key"] != TAINT] == [each for each in taints if each["key"] != TAINT]
        if by == "ns.other" or (by is None and had):
            assert now == taints
    before = msgspec.json.encode(cluster.nodes)
    assert msgspec.json.encode(looked(cluster).nodes) == before


def test_a_release_with_a_long_name_still_is_a_label() -> None:
    assert len(release_value(f"{'n' * 60}/{'r' * 50}")) <= 63
    assert msgspec.convert(node("n"), StoredNode).name == "n"
