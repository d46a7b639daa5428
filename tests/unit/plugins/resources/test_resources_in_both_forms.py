"""On any cluster the form for one node and the form for many say the same; the helpers that run them compare."""

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.pod import Pod
from pilotage.plugins.resources.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.testing import FakeCluster, filter_all, make_node, make_pod, raw_scores

AMOUNTS = {
    "cpu": ("0", "1m", "100m", "333m", "1", "2500m", "7"),
    "memory": ("0", "1", "1000", "200Mi", "3333333333", "4Gi", "1Ti"),
    "ephemeral-storage": ("0", "999", "1Gi", "5G"),
    "example.com/gpu": ("0", "1", "2", "8"),
    "other.io/x": ("0", "1", "3"),
    "hugepages-2Mi": ("0", "2Mi", "8Mi"),
    "kubernetes.io/k": ("1", "5"),
}
IGNORING: tuple[dict[str, Any], ...] = (
    {},
    {"ignoredResources": ["example.com/gpu"]},
    {"ignoredResourceGroups": ["other.io", "kubernetes.io"]},
)
# What one compromised node may claim to have, or one pod ask for: as much as 64 bits hold, and where products begin
# to need more than that.
HUGE = {
    "cpu": ("100P", "9223372036854775807m", "92233720368547759m", "72057594037927937m", "9223372036854775807"),
    "memory": ("8Ei", "8E", "9223372036854775807", "92233720368547759", "64Pi", "4611686018427387905"),
    "ephemeral-storage": ("8E", "9223372036854775807", "92233720368547758"),
    "example.com/gpu": ("9223372036854775807", "92233720368547760"),
    "other.io/x": ("9223372036854775807",),
}
# A number that everything else is drawn from: to draw each amount by itself takes a hundred times as long.
seeds = st.integers(0, 2**32)


def amounts(draw: Random, often: float = 0.5) -> dict[str, str]:
    found = {name: draw.choice(values) for name, values in AMOUNTS.items() if draw.random() < often}
    for name in HUGE if draw.random() < 0.2 else ():
        if draw.random() < 0.5:
            found[name] = draw.choice(HUGE[name])
    return found


def cluster(draw: Random) -> FakeCluster:
    """Return nodes that lack this and that, with pods that may be more than they can bear."""
    nodes, pods = [], []
    often = draw.choice((0.6, 1.0))
    for i in range(draw.randint(1, 12)):
        held: dict[str, Any] = {"cpu": 4, "memory": "8Gi", **amounts(draw, often)}
        size = {"cpu": held.pop("cpu"), "memory": held.pop("memory"), "pods": draw.choice((0, 1, 2, 110))}
        nodes.append(make_node(f"n{i}", allocatable=held, **size))
        pods += [make_pod(f"p{i}-{j}", requests=amounts(draw), node=f"n{i}") for j in range(draw.randint(0, 3))]
    return FakeCluster(nodes, pods)


def incoming(draw: Random) -> Pod:
    """Return a pod with or without sidecars, init containers and overhead."""
    return make_pod(
        requests=amounts(draw),
        init=[amounts(draw)] * draw.randint(0, 1),
        sidecars=[amounts(draw)] * draw.randint(0, 1),
        overhead=draw.choice(({}, {"cpu": "10m", "memory": "5Mi"})),
    )


def resources(draw: Random, heaviest: int) -> list[dict[str, Any]]:
    chosen = draw.sample(sorted(AMOUNTS), draw.randint(1, 5))
    return [{"name": name, "weight": draw.randint(1, heaviest)} for name in chosen]


def strategy(draw: Random) -> dict[str, Any]:
    kind = draw.choice(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
    found: dict[str, Any] = {"type": kind, "resources": resources(draw, 100)}
    if kind == "RequestedToCapacityRatio":
        places = sorted(draw.sample(range(101), draw.randint(1, 4)))
        shape = [{"utilization": place, "score": draw.randint(0, 10)} for place in places]
        found["requestedToCapacityRatio"] = {"shape": shape}
    return found


@given(seeds)
def test_filter(seed: int) -> None:
    draw = Random(seed)
    filter_all(NodeResourcesFit.of(draw.choice(IGNORING)), cluster(draw), incoming(draw))


@given(seeds)
def test_score(seed: int) -> None:
    draw = Random(seed)
    plugin = NodeResourcesFit.of({"scoringStrategy": strategy(draw)})
    assert plugin.faults(()) == []
    scores = raw_scores(plugin, cluster(draw), incoming(draw))
    assert isinstance(scores, dict)
    assert all(0 <= score <= 100 for score in scores.values())


def test_balance_of_more_resources_than_a_number_has_bits() -> None:
    names = [f"example.com/r{i}" for i in range(70)]
    nodes = [make_node(f"n{i}", allocatable=dict.fromkeys(names[: 70 - i], 10)) for i in range(9)]
    plugin = NodeResourcesBalancedAllocation.of({"resources": [{"name": name, "weight": 1} for name in names]})
    wanted = {name: 1 + place % 7 for place, name in enumerate(names)}
    raw_scores(plugin, FakeCluster(nodes), make_pod(requests=wanted))


@given(seeds)
def test_balance(seed: int) -> None:
    draw = Random(seed)
    plugin = NodeResourcesBalancedAllocation.of({"resources": resources(draw, 1)})
    scores = raw_scores(plugin, cluster(draw), incoming(draw))
    assert not isinstance(scores, dict) or all(50 <= score <= 100 for score in scores.values())
