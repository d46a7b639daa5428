"""Where the API serves what scheduling reads."""

from dataclasses import replace
from typing import Any

import pytest

from pilotage.cluster.watch.resources import NODES, PODS, RESOURCES, ApiResource
from pilotage.kinds.every import OURS
from pilotage.kinds.node_metrics import NodeMetrics
from pilotage.model.node import NodeObject
from pilotage.model.pod import PodObject

BY_PLURAL: dict[str, ApiResource[Any]] = {each.plural: each for each in RESOURCES}


def test_every_kind_that_scheduling_reads_can_be_watched() -> None:
    # The metrics API has no watch: a collector asks it again and again.
    assert {each.shape for each in RESOURCES} == {PodObject, NodeObject, *OURS} - {NodeMetrics}
    assert len({(each.group, each.plural) for each in RESOURCES}) == len(RESOURCES)


@pytest.mark.parametrize(
    ("plural", "path"),
    [
        ("pods", "/api/v1/pods"),
        ("nodes", "/api/v1/nodes"),
        ("replicasets", "/apis/apps/v1/replicasets"),
        ("poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets"),
        ("csistoragecapacities", "/apis/storage.k8s.io/v1/csistoragecapacities"),
        ("resourceclaims", "/apis/resource.k8s.io/v1/resourceclaims"),
        ("deviceclasses", "/apis/resource.k8s.io/v1/deviceclasses"),
    ],
)
def test_path(plural: str, path: str) -> None:
    assert BY_PLURAL[plural].path == path


def test_pods_that_have_finished_are_not_watched() -> None:
    assert PODS.selection == {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
    assert NODES.selection == {}


def test_one_object_of_one_namespace_can_be_watched() -> None:
    one = replace(PODS, namespace="kube-system", field_selector="metadata.name=a")
    assert one.path == "/api/v1/namespaces/kube-system/pods"
    assert one.selection == {"fieldSelector": "metadata.name=a"}


def test_names_are_those_of_roles() -> None:
    assert (str(PODS), str(BY_PLURAL["csinodes"])) == ("pods", "csinodes.storage.k8s.io")
