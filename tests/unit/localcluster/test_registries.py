"""Nodes find a registry of this machine under the name it has here."""

import tomllib
from pathlib import Path

import pytest

from localcluster import registries
from localcluster.address_plan import Network
from localcluster.errors import Problem
from localcluster.record import Cluster, Ports


def test_a_node_is_sent_to_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))
    own = Network("pilotage1", "172.30.1.0/24", "10.244.32.0/19", "10.96.1.0/24")
    ports = Ports(api=1, etcd=2, etcd_peer=3, kwok=4, scheduler=5)
    cluster = Cluster(
        "x", "full", "1.37.1", 1, "172.30.1.1", ports, True, False, "/k", {}, own, registries=["localhost:80"]
    )
    registries.write_files(cluster)
    written = {file.parent.name: tomllib.loads(file.read_text()) for file in tmp_path.glob("x/registries/*/hosts.toml")}
    assert written == {
        f"localhost:{port}": {
            "server": f"http://172.30.1.1:{port}",
            "host": {f"http://172.30.1.1:{port}": {"capabilities": ["pull", "resolve"]}},
        }
        for port in (80, 5000)
    }


@pytest.mark.parametrize("name", ["registry.example.com", "localhost", "localhost:x", "../x:1", "127.0.0.1:5000"])
def test_what_is_no_registry_of_this_machine(name: str) -> None:
    with pytest.raises(Problem, match="write --registry localhost:PORT"):
        registries.check(["localhost:5000", name])
