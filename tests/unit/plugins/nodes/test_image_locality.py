import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST
from pilotage.plugins.nodes.image_locality import ImageLocality
from pilotage.testing import FakeCluster, make_node, make_pod, score_all

MIB = 1024 * 1024


def cluster(**images: dict[str, int]) -> FakeCluster:
    """Return nodes with these images, in MiB."""
    sizes = {node: [(name, size * MIB) for name, size in held.items()] for node, held in images.items()}
    return FakeCluster(nodes=[make_node(node, images=held) for node, held in sizes.items()])


def using(*containers: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> Pod:
    return make_pod(
        spec={
            "containers": [{"name": f"c{i}", "image": image} for i, image in enumerate(containers)],
            "initContainers": [{"name": f"i{i}", "image": image} for i, image in enumerate(init)],
            "volumes": [{"name": f"v{i}", "image": {"reference": image}} for i, image in enumerate(volumes)],
        }
    )


@pytest.mark.parametrize(
    ("nodes", "pod", "scores"),
    [
        pytest.param(
            cluster(a={"reg:5000/x:latest": 500}, b={"reg:5000/x:latest": 500}, c={}, d={}),
            using("reg:5000/x"),
            {"a": 23, "b": 23, "c": 0, "d": 0},
            id="the port of a registry is no tag",
        ),
        pytest.param(
            cluster(n1={"small:1": 40}, n2={"large:1": 250}),
            using("small:1", "large:1"),
            {"n1": 0, "n2": 5},
            id="small images do not count",
        ),
        pytest.param(
            cluster(n1={"x:1": 4000}, n2={"y:1": 10}, n3={}),
            using("x:1", "y:1"),
            {"n1": 66, "n2": 0, "n3": 0},
            id="an image that few nodes have counts less",
        ),
        pytest.param(
            cluster(n1={"b:1": 600, "c:1": 900}, n2={"a:1": 300, "b:1": 600, "c:1": 900}, n3={}),
            using("a:1", "b:1", "c:1"),
            {"n1": 32, "n2": 36, "n3": 0},
            id="images add up",
        ),
        pytest.param(
            cluster(n1={"x@sha256:abc": 1000}, n2={}), using("x@sha256:abc"), {"n1": 48, "n2": 0}, id="a digest stays"
        ),
        pytest.param(cluster(n1={"x:1": 9000}), using("x:1"), {"n1": 100}, id="there is no more than 100"),
        pytest.param(cluster(n1={"x:1": 900}), using("y:1"), {"n1": 0}, id="images that no node has"),
        pytest.param(cluster(n1={"x:1": 900}), using(), {"n1": 0}, id="a pod without images"),
    ],
)
def test_scores(nodes: FakeCluster, pod: Pod, scores: dict[str, int]) -> None:
    assert score_all(ImageLocality(), nodes, pod) == scores


def test_init_containers_and_image_volumes_count_like_containers() -> None:
    nodes = cluster(n1={"x:1": 900}, n2={})
    one = score_all(ImageLocality(), nodes, using("x:1", "other"))
    assert score_all(ImageLocality(), nodes, using("other", init=("x:1",))) == one
    assert score_all(ImageLocality(), nodes, using("other", volumes=("x:1",))) == one


def test_an_image_that_is_used_twice_counts_twice() -> None:
    nodes = cluster(n1={"x:1": 900}, n2={"x:1": 900})
    assert score_all(ImageLocality(), nodes, using("x:1", "x:1")) == {"n1": 89, "n2": 89}
    assert score_all(ImageLocality(), nodes, using("x:1", "y:1")) == {"n1": 44, "n2": 44}


def test_the_first_size_that_was_reported_holds_everywhere() -> None:
    assert score_all(ImageLocality(), cluster(n1={"x:1": 900}, n2={"x:1": 1}), using("x:1")) == {"n1": 89, "n2": 89}


def test_all_nodes_count_not_only_those_that_are_left() -> None:
    nodes = cluster(n1={"x:1": 900}, n2={}, n3={})
    assert score_all(ImageLocality(), nodes, using("x:1"), {"n1"}) == {"n1": 28}


def test_another_node_with_the_image_changes_the_answer_for_all() -> None:
    nodes, pod = cluster(n1={"x:1": 900}, n2={}), using("x:1")
    before = ImageLocality().epoch(nodes.cycle(pod))
    assert score_all(ImageLocality(), nodes, pod) == {"n1": 43, "n2": 0}
    nodes.cache.put_node(make_node("n3", images=[("x:1", 900 * MIB)]))
    assert ImageLocality().epoch(nodes.cycle(pod)) != before
    assert score_all(ImageLocality(), nodes, pod) == {"n1": 59, "n2": 0, "n3": 59}


SIZES = st.integers(0, 3000) | st.sampled_from([LARGEST, LARGEST // 3, LARGEST // MIB])  # MiB; a node can say anything
NAMES = st.sampled_from(["a", "b", "c:1", "reg:5000/d"])
HELD = st.dictionaries(st.sampled_from(["a:latest", "b:latest", "c:1", "reg:5000/d:latest"]), SIZES)


@given(st.lists(HELD, min_size=1, max_size=6), st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=2))
def test_both_forms_agree(held: list[dict[str, int]], containers: list[str], volumes: list[str]) -> None:
    nodes = cluster(**{f"n{i}": each for i, each in enumerate(held)})
    score_all(ImageLocality(), nodes, using(*containers, volumes=tuple(volumes)))
