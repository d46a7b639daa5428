from kit.serving import Servant
from pilotage.framework.api.delegation import Delegation, Devices
from pilotage.testing import FakeCluster, make_node, make_pod

GPU, NIC = "example.com/gpu", "example.com/nic"


def cluster() -> FakeCluster:
    nodes = [make_node("plain"), make_node("devices"), make_node("plugin", allocatable={GPU: 4, NIC: 1})]
    return FakeCluster(nodes, [make_pod("old", requests={GPU: 1}, node=each) for each in ("devices", "plugin")])


def servant() -> Servant:
    return Servant({GPU: {"devices": Devices(8, 3), "plugin": Devices(9, 9)}})


def test_nobody_serves() -> None:
    delegation, nodes = Delegation(), cluster().nodes
    assert not delegation.serves(GPU)
    assert delegation.epoch([GPU]) == 0
    assert delegation.with_devices(nodes, [GPU]) is nodes
    assert delegation.with_devices_of(nodes[0], [GPU]) is nodes[0]


def test_the_last_who_began_and_did_not_end() -> None:
    delegation, one, other = Delegation(), servant(), Servant({NIC: {}})
    seen = {delegation.epoch()}
    delegation.begin(one)
    seen.add(delegation.epoch())
    delegation.begin(other)
    seen.add(delegation.epoch())
    assert not delegation.serves(GPU)
    assert delegation.serves(NIC)
    delegation.end(one)
    assert delegation.serves(NIC)
    delegation.end(other)
    seen.add(delegation.epoch())
    assert not delegation.serves(NIC)
    assert len(seen) == 4


def test_numbers_that_change() -> None:
    delegation, one = Delegation(), servant()
    delegation.begin(one)
    names, with_devices = delegation.epoch([NIC]), delegation.epoch([GPU])
    one.devices_version += 1
    assert delegation.epoch([NIC]) == names, "nothing that is scored has devices"
    assert delegation.epoch([GPU]) != with_devices
    one.names_version += 1
    assert delegation.epoch([NIC]) != names


def test_amounts_of_devices() -> None:
    there = cluster()
    delegation, nodes = there.delegation, there.nodes
    delegation.begin(servant())
    counted = delegation.with_devices(nodes, [GPU, NIC, "cpu"])
    assert counted.allocatable(GPU).tolist() == [0, 8, 4]
    assert counted.requested(GPU).tolist() == [0, 3, 1]
    assert counted.allocatable(NIC).tolist() == [0, 0, 1]
    assert counted.allocatable("cpu").tolist() == nodes.allocatable("cpu").tolist()
    assert counted.requested("cpu").tolist() == nodes.requested("cpu").tolist()
    some = counted.take(counted.allocatable(GPU) > 0)
    assert some.allocatable(GPU).tolist() == [8, 4]
    alone = [delegation.with_devices_of(node, [GPU, NIC]) for node in nodes]
    for infos in (list(counted), alone):
        assert [info.allocatable.get(GPU, 0) for info in infos] == [0, 8, 4]
        assert [info.requested.get(GPU, 0) for info in infos] == [0, 3, 1]
    assert nodes.allocatable(GPU).tolist() == [0, 0, 4], "nothing else changed"
    assert GPU not in nodes[1].allocatable
