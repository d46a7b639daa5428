"""Names of clusters and of their nodes."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from localcluster import record
from localcluster.address_plan import Network
from localcluster.errors import Problem
from localcluster.record import Cluster, Ports


@pytest.mark.parametrize("name", ["kind", "pytest-kind", "a", "x.1", "a" * 40])
def test_a_host_name_can_name_a_cluster(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", "/s")
    record.check_name(name)


@pytest.mark.parametrize("name", ["", "Upper", "a b", "../etc", "-a", "a-", "a" * 41, ".", "ä"])
def test_what_cannot_name_a_cluster(name: str) -> None:
    with pytest.raises(Problem, match="is not a valid cluster name"):
        record.check_name(name)


def test_a_state_folder_that_is_too_deep_for_sockets_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", f"/{'x' * 90}")
    with pytest.raises(Problem, match="set PILOTAGE_STATE to a shorter folder"):
        record.check_name("kind")


def cluster(name: str, workers: int) -> Cluster:
    ports = Ports(api=1, etcd=2, etcd_peer=3, kwok=4, scheduler=5)
    own = Network("pilotage3", "172.30.3.0/24", "10.244.96.0/19", "10.96.3.0/24")
    return Cluster(name, "full", "1.37.1", workers, "172.30.3.1", ports, True, False, "/config", {"kubectl": "/k"}, own)


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
    assert record.networks() == [written.network]
    assert record.ports() == {1, 2, 3, 4, 5}


def test_a_record_of_the_time_when_there_was_one_network_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))
    old = cluster("x", 2)
    old.folder.mkdir()
    content = asdict(old)
    del content["network"], content["with_fake_nodes"]
    (old.folder / "cluster.json").write_text(json.dumps(content))
    read = record.load_existing("x")
    assert (read.network.node_address(1), read.network.pod_range(1), read.with_fake_nodes) == (
        "172.30.0.11",
        "10.244.1.0/24",
        True,
    )


def test_a_cluster_in_creation_is_known_until_its_creator_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))
    assert not record.is_in_creation("x")
    (tmp_path / "x").mkdir()
    with record.in_creation("x"):
        assert record.is_in_creation("x")
    assert not record.is_in_creation("x")


def test_a_cluster_that_must_exist_and_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))
    with pytest.raises(Problem, match="no cluster 'x' \\(existing: none\\)"):
        record.load_existing("x")
