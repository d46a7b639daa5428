import msgspec
import pytest

from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.plugins.topology.node_resource_topology_match.placement import (
    Unreadable,
    container_hash,
    numbers,
    placement_of,
)
from pilotage.testing.topology import make_topology

METADATA = "topology.node.k8s.io/numaplacement-metadata"
THREE = [("ns-0", "pod-0", "container-0"), ("ns-0", "pod-1", "container-1"), ("ns-0", "pod-1", "container-2")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("!", [0], id="the smallest"),
        pytest.param("e", [63], id="the largest of one character"),
        pytest.param("f!", [64], id="the smallest of two"),
        pytest.param("~e", [1663], id="the largest of two"),
        pytest.param("gf!", [1664], id="the smallest of three"),
        pytest.param("~~e", [40063], id="the largest of three"),
        pytest.param("!#f!$", [0, 1, 64, 2], id="several"),
    ],
)
def test_numbers(text: str, expected: list[int]) -> None:
    assert list(numbers(text)) == expected


@pytest.mark.parametrize("text", ["f", "!f", '"', "é", " ", "\\", "fffffffff!"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(Unreadable):
        list(numbers(text))


def told(metadata: str, *vectors: str) -> NodeResourceTopology:
    return make_topology("n1", *({"cpu": 1},) * len(vectors), attributes={METADATA: metadata}, vectors=vectors)


def test_the_first_in_the_order_of_hashes_is_in_the_other_zone() -> None:
    first, *others = sorted(THREE, key=container_hash)
    assert first == ("ns-0", "pod-1", "container-1")
    expected = {first: 0, others[0]: 1, others[1]: 1}
    assert placement_of(told("npv0v001::ve=leb89::cc=3::nn=2::bn=1", "!", ""), THREE) == expected
    assert placement_of(told("npv0v001::cc=3::nn=2::bn=1", "npv0v001!", ""), reversed(THREE)) == expected


def test_steps_lead_from_one_container_to_the_next() -> None:
    first, second, third = sorted(THREE, key=container_hash)
    found = placement_of(told("npv0v001::ve=leb89::cc=3::nn=2::bn=0", "", "!$"), THREE)
    assert found == {first: 1, second: 0, third: 1}


def test_no_containers_are_nowhere() -> None:
    assert placement_of(told("npv0v001::ve=leb89::cc=0::nn=2::bn=0", "", ""), []) == {}


@pytest.mark.parametrize(
    "topology",
    [
        pytest.param(told("npv0v001::cc=2::nn=2::bn=0", "", ""), id="another number of containers"),
        pytest.param(told("npv0v001::cc=3::nn=2", "", ""), id="no busiest zone"),
        pytest.param(told("npv0v001::cc=3::nn=2::bn=2", "", ""), id="a busiest zone that is not there"),
        pytest.param(told("npv0v001::cc=-3::nn=2::bn=0", "", ""), id="a negative number"),
        pytest.param(told("npv0v001::cc=3::nn=2::bn=0", "", "%"), id="a container beyond the last"),
        pytest.param(told("", "", ""), id="nothing at all"),
        pytest.param(make_topology("n1", {"cpu": 1}), id="no such attribute"),
    ],
)
def test_what_tells_nothing(topology: NodeResourceTopology) -> None:
    assert placement_of(topology, THREE) is None


def test_a_zone_that_is_no_numa_node_tells_nothing() -> None:
    good = told("npv0v001::cc=3::nn=2::bn=0", "", "!")
    zones = (good.zones[0], msgspec.structs.replace(good.zones[1], name="socket-1"))
    assert placement_of(msgspec.structs.replace(good, zones=zones), THREE) is None
