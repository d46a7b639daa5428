"""What can help a pod that its quota had no room for."""

from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.objects import Kind
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.workloads import Namespace
from pilotage.model.pod import Pod
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.testing import FakeCluster, handle_of, make_pod
from pilotage.testing.quotas import make_namespace, make_quota

CPU_ONLY: list[Kind] = [make_quota("ns1", {"cpu": 4}, {"cpu": 6}), make_quota("ns2", {"cpu": 4}, {"cpu": 6})]
DELETED, QUOTA_UPDATED = Event(Resource.ASSIGNED_POD, Action.DELETE), Event(ElasticQuota, Action.UPDATE)


def pod(namespace: str, **fields: Any) -> Pod:
    return make_pod(namespace=namespace, **fields)


@pytest.mark.parametrize(
    ("waiting", "gone", "helps"),
    [
        pytest.param(pod("ns1", cpu=1), pod("ns1", cpu=1), True, id="one of its quota"),
        pytest.param(pod("ns1", cpu=1), pod("ns2", cpu=1), True, id="one that had borrowed, perhaps"),
        pytest.param(pod("ns1", cpu=1), pod("free", cpu=1), False, id="one without a quota"),
        pytest.param(pod("ns1", cpu=1), pod("ns2", memory=1), False, id="one that had nothing of what it needs"),
        pytest.param(pod("ns1", memory=1), pod("ns1", memory=1), False, id="nothing that its quota counts"),
        pytest.param(pod("free", cpu=1), pod("free", cpu=1), True, id="the pod has no quota any more"),
    ],
)
def test_a_pod_that_goes_helps(waiting: Pod, gone: Pod, helps: bool) -> None:
    plugin = CapacityScheduling()
    plugin.start(handle_of(FakeCluster(objects=CPU_ONLY)))
    assert plugin.gave_something_back(waiting, DELETED, gone, None) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, make_quota("ns9"), True, id="a new one"),
        pytest.param(make_quota("ns9"), None, True, id="one that is gone"),
        pytest.param(make_quota("ns2", {"cpu": 1}), make_quota("ns2", {"cpu": 1}), False, id="only its status changed"),
        pytest.param(make_quota("ns2", {"cpu": 1}), make_quota("ns2", {"cpu": 2}), True, id="another min"),
        pytest.param(make_quota("ns1", most={"cpu": 1}), make_quota("ns1"), True, id="another max of its quota"),
        pytest.param(make_quota("ns2", most={"cpu": 1}), make_quota("ns2"), False, id="another max of another quota"),
        pytest.param(make_quota("ns2"), make_quota("ns2", selector={}), True, id="another selector"),
        pytest.param(make_quota("ns2"), make_quota("ns2", classes="high"), True, id="other priority classes"),
    ],
)
def test_a_quota_that_changes_helps(old: ElasticQuota | None, new: ElasticQuota | None, helps: bool) -> None:
    plugin = CapacityScheduling()
    plugin.start(handle_of(FakeCluster(objects=CPU_ONLY)))
    assert plugin.bounds_changed(pod("ns1", cpu=1), QUOTA_UPDATED, old, new) is helps


@pytest.mark.parametrize(
    ("quotas", "old", "new", "helps"),
    [
        pytest.param(
            [make_quota("a", selector={})], make_namespace("b"), make_namespace("b", x="y"), True, id="labels"
        ),
        pytest.param(
            [make_quota("a", selector={})], make_namespace("b"), make_namespace("b"), False, id="something else"
        ),
        pytest.param(
            [make_quota("a")], make_namespace("b"), make_namespace("b", x="y"), False, id="nobody asks for labels"
        ),
    ],
)
def test_a_namespace_that_changes_helps(quotas: list[Kind], old: Namespace, new: Namespace, helps: bool) -> None:
    plugin = CapacityScheduling()
    plugin.start(handle_of(FakeCluster(objects=quotas)))
    event = Event(Resource.NAMESPACE, Action.UPDATE)
    assert plugin.labels_changed(pod("b"), event, old, new) is helps
