from itertools import permutations

import msgspec
import pytest

from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.plugins.topology.node_resource_topology_match.fingerprints import fingerprint, published_fingerprint
from pilotage.plugins.topology.node_resource_topology_match.xxh64 import xxh64

FIVE = [("ns1", "n1"), ("ns1", "n2"), ("ns2", "n1"), ("ns3", "n1"), ("ns3", "n2")]


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        pytest.param(b"", 0, 0xEF46DB3751D8E999, id="nothing"),
        pytest.param(b"a", 0, 0xD24EC4F1A98C6E5B, id="one byte"),
        pytest.param(b"abc", 0, 0x44BC2CF5AD770999, id="less than a word"),
        pytest.param(b"abcd", 0, 0xDE0327B0D25D92CC, id="half a word"),
        pytest.param(b"12345678901234567890123456789012345678901234567890123456789012345678901234567890", 0,
                     0xE04A477F19EE145D, id="stripes, words and a rest"),
        pytest.param(b"xxhash", 20141025, 0xB559B98D844E0635, id="another seed"),
    ],
)  # fmt: skip
def test_xxh64(data: bytes, seed: int, expected: int) -> None:
    assert xxh64(data, seed) == expected


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([], "pfp0v001ef46db3751d8e999", id="no pods"),
        pytest.param([("namespace1", "pod1")], "pfp0v0019e0420efb37746c6", id="one pod"),
        pytest.param(FIVE, "pfp0v001b92008c14168b3a6", id="five pods"),
    ],
)
def test_fingerprint(pods: list[tuple[str, str]], expected: str) -> None:
    assert fingerprint(pods) == expected


def test_the_order_of_pods_is_no_matter() -> None:
    assert {fingerprint(pods) for pods in permutations(FIVE)} == {"pfp0v001b92008c14168b3a6"}


@pytest.mark.parametrize(
    ("attributes", "annotations", "expected"),
    [
        pytest.param({"nodeTopologyPodsFingerprint": "new"}, {}, "new", id="an attribute"),
        pytest.param({}, {"topology.node.k8s.io/fingerprint": "old"}, "old", id="an annotation"),
        pytest.param(
            {"nodeTopologyPodsFingerprint": "new"},
            {"topology.node.k8s.io/fingerprint": "old"},
            "new",
            id="the attribute goes first",
        ),
        pytest.param({}, {}, "", id="neither"),
    ],
)
def test_where_it_is_published(attributes: dict[str, str], annotations: dict[str, str], expected: str) -> None:
    manifest = {
        "metadata": {"name": "n1", "annotations": annotations},
        "attributes": [{"name": name, "value": value} for name, value in attributes.items()],
    }
    assert published_fingerprint(msgspec.convert(manifest, NodeResourceTopology)) == expected
