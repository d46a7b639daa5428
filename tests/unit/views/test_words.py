"""Texts are shown up to the first name that is none of the viewer's business."""

from typing import Any, cast

import pytest

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.testing import make_node, make_pod
from pilotage.views.state import State
from pilotage.views.viewer import EVERYTHING, Viewer, Words

VIEWER = Viewer(namespaces=frozenset({"shop"}))
OF_ALL_PODS = Viewer(everywhere=True)
OF_NODES = Viewer(namespaces=frozenset({"shop"}), nodes=True)


def state() -> State:
    cache = ClusterCache()
    for name in ("n1", "worker.example.com", "0"):
        cache.put_node(make_node(name))
    pods = {"0/14": make_pod("14", namespace="0")}
    unused: Any = None
    return State(cache, unused, {}, unused, unused, unused, lambda: pods, unused)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("1 Insufficient cpu, 2 Too many pods.", None, id="no name"),
        pytest.param("1/3 nodes are available", None, id="numbers of nodes"),
        pytest.param("didn't match Pod's node affinity/selector", None, id="words that look like names"),
        pytest.param("had taint nvidia.com/gpu, wants shop/web-0", None, id="a key with a domain, and a visible pod"),
        pytest.param("SySched on n1 is full", "SySched on ...", id="a node"),
        pytest.param("full: n1.", "full ...", id="a node at the end of a sentence"),
        pytest.param('"worker.example.com" is full', " ...", id="a node in quotes"),
        pytest.param('node "gone-1" was deleted', "node ...", id="a deleted node"),
        pytest.param("waits for batch/low-1 to go", "waits for ...", id="a pod of another namespace"),
        pytest.param("x 0/14 y", "x ...", id="a pod whose name looks like a number of nodes"),
        pytest.param("first batch/a, then n1", "first ...", id="the first of several names"),
        pytest.param("<b>batch/a</b>", "<b> ...", id="markup around a name"),
    ],
)
def test_texts_for_a_viewer_of_one_namespace(text: str, shown: str | None) -> None:
    assert Words(state(), VIEWER)(text) == (text if shown is None else shown)


@pytest.mark.parametrize(
    ("viewer", "shown"),
    [
        pytest.param(EVERYTHING, "batch/a, then n1", id="everything"),
        pytest.param(OF_ALL_PODS, "batch/a, then ...", id="all pods, and no nodes"),
        pytest.param(OF_NODES, " ...", id="nodes, and the pods of one namespace"),
    ],
)
def test_texts_for_other_viewers(viewer: Viewer, shown: str) -> None:
    assert Words(state(), viewer)("batch/a, then n1") == shown


def test_foreign_names_are_detected() -> None:
    words = Words(state(), VIEWER)
    assert words.names_foreign("on n1")
    assert not words.names_foreign("on one node")


def test_texts_are_cached() -> None:
    words = Words(state(), VIEWER)
    assert words("on n1") is words("on n1")
    assert cast(Any, words)._known == {"on n1": "on ..."}
