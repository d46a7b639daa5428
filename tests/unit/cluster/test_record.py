"""Names of clusters and of their nodes."""

from pathlib import Path

import pytest

from cluster import record
from cluster.errors import Problem
from cluster.record import Cluster, Ports


@pytest.mark.parametrize("name", ["kind", "pytest-kind", "a", "x.1", "a" * 40])
def test_a_host_name_can_name_a_cluster(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", "/s")
    record.check_name(name)


@pytest.mark.parametrize("name", ["", "Upper", "a b", "../etc", "-a", "a-", "a" * 41, ".", "ä"])
def test_what_cannot_name_a_cluster(name: str) -> None:
    with pytest.raises(Problem, match="cannot name a cluster"):
        record.check_name(name)


def test_a_state_folder_that_is_too_deep_for_sockets_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", f"/{'x' * 90}")
    with pytest.raises(Problem, match="set PILOTAGE_STATE to a shorter folder"):
        record.check_name("kind")


def cluster(name: str, workers: int) -> Cluster:
    ports = Ports(api=1, etcd=2, etcd_peer=3, kwok=4, scheduler=5)
    return Cluster(name, "full", "1.37.1", workers, "172.30.0.1", ports, True, "/config", {"kubectl": "/k"})


def test_nodes_are_named_as_kind_names_its_workers() -> None:
    assert cluster("x", 3).nodes == ["x-worker", "x-worker2", "x-worker3"]


def test_a_saved_record_is_read_back_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))
    written = cluster("x", 2)
    written.folder.mkdir()
    assert record.load("x") is None
    written.save()
    assert record.load("x") == written
    assert record.cluster_names() == ["x"]


def test_a_cluster_that_must_exist_and_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))
    with pytest.raises(Problem, match="no cluster 'x' \\(existing: none\\)"):
        record.load_existing("x")
