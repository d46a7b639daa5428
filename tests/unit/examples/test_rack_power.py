"""The example of a plugin with a custom resource of its own, tested as its author would."""

import importlib.util
from pathlib import Path

from pilotage.model.metadata import Metadata
from pilotage.testing import FakeApi, FakeCluster, filter_all, handle_of, make_node, make_pod, score_all

_file = Path(__file__).parents[3] / "examples/plugins/rack_power.py"
_spec = importlib.util.spec_from_file_location("rack_power", _file)
assert _spec is not None
assert _spec.loader is not None
rack_power = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rack_power)

RACKS = [
    rack_power.RackPower(Metadata(name), rack_power.RackPowerSpec(watts=1000, used=used))
    for name, used in (("full", 950), ("half", 500), ("idle", 0))
]
NODES = [make_node(rack, labels={rack_power.RACK: rack}) for rack in ("full", "half", "idle", "unknown")]
CLUSTER, POD = FakeCluster(NODES, objects=RACKS), make_pod(annotations={rack_power.WATTS: "100"})


def test_a_rack_without_enough_power_is_out() -> None:
    expected = {"full": rack_power.NOT_ENOUGH, "half": None, "idle": None, "unknown": rack_power.NO_RACK}
    assert filter_all(rack_power.RackPowerFit(), CLUSTER, POD) == expected


def test_the_rack_with_the_most_left_is_best() -> None:
    assert score_all(rack_power.RackPowerFit(), CLUSTER, POD, ["half", "idle"]) == {"half": 50, "idle": 100}


async def test_the_rack_says_who_was_sent_to_it() -> None:
    plugin, api = rack_power.RackPowerFit(), FakeApi()
    plugin.start(handle_of(CLUSTER, api=api))
    await plugin.pre_bind(None, POD, "half")
    [write] = api.writes
    assert write.path == "/apis/power.example.com/v1/rackpowers/half"
    assert write.body == {"metadata": {"annotations": {rack_power.LAST_POD: POD.key}}}
