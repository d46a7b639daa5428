from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import SKIP, Rejection
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_declared_features import NodeDeclaredFeatures
from pilotage.testing import FakeCluster, Manifest, filter_all, make_node, make_pod

LACKING = Rejection("node(s) didn't match Pod's required features", preemption_helps=False)
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
RESTART_ALL = "RestartAllContainersOnContainerExits"
BIND_MOUNTS = "VolumeBindMountOptions"
NODE_CHANGED = Event(Resource.NODE, Action.UPDATE_NODE_DECLARED_FEATURE)
POD_CHANGED = Event(Resource.TARGET_POD, Action.UPDATE)


def pod_with(**spec: Any) -> Pod:
    return make_pod(spec=spec)


def container(**fields: Any) -> list[Manifest]:
    return [{"name": "c", "image": "i", **fields}]


RESTARTING = container(restartPolicyRules=[{"action": "RestartAllContainers"}])
MOUNTING = container(volumeMounts=[{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}])
NAMESPACED: Manifest = {"hostNetwork": True, "hostUsers": False}


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        pytest.param(NAMESPACED, USER_NAMESPACES, id="own users in the network of the host"),
        pytest.param({"containers": RESTARTING}, RESTART_ALL, id="a container that restarts all"),
        pytest.param({"initContainers": RESTARTING}, RESTART_ALL, id="an init container that restarts all"),
        pytest.param({"containers": MOUNTING}, BIND_MOUNTS, id="options of a mount"),
        pytest.param({"initContainers": MOUNTING}, BIND_MOUNTS, id="of an init container"),
        pytest.param({"ephemeralContainers": MOUNTING}, BIND_MOUNTS, id="of an ephemeral container"),
    ],
)
def test_a_feature_is_needed(spec: Manifest, feature: str) -> None:
    cluster = FakeCluster(
        nodes=[make_node("old"), make_node("new", declared_features=["Unknown", feature])],
    )
    assert filter_all(NodeDeclaredFeatures(), cluster, pod_with(**spec)) == {"old": LACKING, "new": None}


def test_all_needed_features_must_be_there() -> None:
    cluster = FakeCluster(
        nodes=[
            make_node("one", declared_features=[USER_NAMESPACES]),
            make_node("both", declared_features=[USER_NAMESPACES, RESTART_ALL]),
        ]
    )
    pod = pod_with(containers=RESTARTING, **NAMESPACED)
    assert filter_all(NodeDeclaredFeatures(), cluster, pod) == {"one": LACKING, "both": None}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="an ordinary pod"),
        pytest.param({"hostNetwork": True}, id="the network of the host alone"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, id="with the users of the host"),
        pytest.param({"hostUsers": False}, id="own users alone"),
        pytest.param({"containers": container(restartPolicyRules=[{"action": "Restart"}])}, id="another restart rule"),
        pytest.param({"ephemeralContainers": RESTARTING}, id="an ephemeral container never restarts"),
    ],
)
def test_pods_that_need_nothing_are_not_looked_at(spec: Manifest) -> None:
    assert filter_all(NodeDeclaredFeatures(), FakeCluster(nodes=[make_node()]), pod_with(**spec)) is SKIP


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(None, [], True, id="a new node"),
        pytest.param(["A"], ["A", "B"], True, id="one more feature"),
        pytest.param(["A"], [], True, id="one feature less"),
        pytest.param(["A"], ["A"], False, id="the same features"),
    ],
)
def test_a_changed_node_helps(before: list[str] | None, after: list[str], helps: bool) -> None:
    old = None if before is None else make_node(declared_features=before)
    new = make_node(declared_features=after)
    assert NodeDeclaredFeatures().features_changed(make_pod(), NODE_CHANGED, old, new) is helps


def test_a_changed_pod_helps_if_it_needs_other_features() -> None:
    changed = NodeDeclaredFeatures().needs_changed
    assert changed(make_pod(), POD_CHANGED, pod_with(**NAMESPACED), make_pod())
    assert not changed(make_pod(), POD_CHANGED, pod_with(**NAMESPACED), pod_with(**NAMESPACED))


FEATURES = st.lists(st.sampled_from([USER_NAMESPACES, RESTART_ALL, BIND_MOUNTS, "Unknown"]))


@given(st.lists(FEATURES, min_size=1, max_size=6), st.booleans())
def test_both_forms_agree(features: list[list[str]], restarting: bool) -> None:
    cluster = FakeCluster(nodes=[make_node(f"n{i}", declared_features=each) for i, each in enumerate(features)])
    spec = NAMESPACED | ({"containers": RESTARTING} if restarting else {})
    filter_all(NodeDeclaredFeatures(), cluster, pod_with(**spec))
