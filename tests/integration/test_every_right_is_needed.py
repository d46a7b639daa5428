"""No right of the chart's accounts is there for nothing: without it, some request of scheduler or operator is refused.

Releases stand side by side, each with other plugins and another controller, and are played everything that needs a
right. The API server's audit log tells what their accounts asked for, and so what would be refused without which rule.
It is an API server that streams no lists, as older ones do not: only then anybody asks for one.
"""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from kit.admin import Admin
from kit.control_plane import ControlPlane, control_plane, name_for_this_run
from kit.documented_rights import CONTROLLERS, OPERATOR, PLUGINS, SCHEDULER, documented
from kit.foreign_definitions import NODE_METRICS, SECCOMP_PROFILES
from kit.release import home_nodes
from kit.rights_play import PATIENCE, PLAY, READER, URGENT, Play
from kit.side_by_side import Neighbours
from kit.used_rights import Grant, Request, grants, needed, requests
from localcluster.control_plane import WATCHED_NAMESPACE
from pilotage.testing import node_manifest

FEATURES = {
    "featureGates": {"GenericWorkload": True, "WatchList": False},
    "runtimeConfig": {"scheduling.k8s.io/v1beta1": "true"},  # PodGroups of Kubernetes' own, which Coscheduling reads
}
REGION = "topology.kubernetes.io/region"
TABLES = {"F-scheduler": (SCHEDULER, PLUGINS), "F-operator": (OPERATOR, CONTROLLERS)}


@pytest.fixture(scope="module")
def streaming_nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of these tests' own."""
    kubeconfig = tmp_path_factory.mktemp("rights") / "kubeconfig"
    with control_plane(f"{name_for_this_run()}-rights", kubeconfig, FEATURES) as running:
        yield running


@pytest.fixture(scope="module")
def neighbours(streaming_nothing: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Neighbours:
    """All releases, installed, each with a node for its pods."""
    kubectl = streaming_nothing.kubectl
    for name in (WATCHED_NAMESPACE, PLAY):
        kubectl("create", "namespace", name)
    kubectl("create", "priorityclass", URGENT, "--value=100")
    kubectl.create(SECCOMP_PROFILES, NODE_METRICS)
    found = Neighbours(streaming_nothing, WATCHED_NAMESPACE, tmp_path_factory.mktemp("releases"))
    streaming_nothing.fake_nodes(home_nodes("rights"))
    found.install(READER)
    # Only now, or the pods of the releases would be there. What NetworkTopology is about is the ways between regions.
    streaming_nothing.fake_nodes(
        [node_manifest(each.node, cpu=2, labels={REGION: each.scheduler}) for each in found.all]
    )
    return found


@pytest.fixture(scope="module")
def granted(neighbours: Neighbours, streaming_nothing: ControlPlane) -> list[Grant]:
    """All rights of the accounts."""
    return grants(streaming_nothing.kubectl, WATCHED_NAMESPACE)


@pytest.fixture(scope="module")
def asked(neighbours: Neighbours, streaming_nothing: ControlPlane, granted: list[Grant]) -> list[Request]:
    """All that the accounts asked for while everything was played to them, and a while longer if that is not all."""
    log = streaming_nothing.audit_log
    with closing(Admin(streaming_nothing.cluster)) as admin, neighbours.running():
        try:
            Play(neighbours, admin).everything()
        except AssertionError as error:
            error.add_note("\n".join(["refused were:", *refusals(requests(log, WATCHED_NAMESPACE))]))
            raise
        deadline = time.monotonic() + PATIENCE  # some things are read from time to time
        while unneeded(granted, found := list(requests(log, WATCHED_NAMESPACE))) and time.monotonic() < deadline:
            time.sleep(1)
    return found


@pytest.mark.parametrize(("account", "headings"), TABLES.items())
def test_all_documented_rights_are_played(granted: list[Grant], account: str, headings: tuple[str, ...]) -> None:
    told = {right for heading in headings for right in documented(heading, "F", WATCHED_NAMESPACE)}
    assert {grant.common for grant in granted if grant.account == account and not grant.is_borrowed} == told


def test_nobody_is_refused(asked: list[Request]) -> None:
    assert refusals(asked) == []


def test_every_right_is_needed(granted: list[Grant], asked: list[Request]) -> None:
    assert unneeded(granted, asked) == set()


def unneeded(granted: list[Grant], asked: list[Request]) -> set[str]:
    """Return the rights without which nothing would have been refused, in words."""
    return {str(grant) for grant in granted} - needed(granted, asked)


def refusals(asked: Iterator[Request] | list[Request]) -> list[str]:
    """Return what was refused, in words."""
    return sorted({str(request) for request in asked if request.is_refused})
