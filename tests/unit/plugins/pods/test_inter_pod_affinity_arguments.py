"""The arguments of InterPodAffinity, and where it takes part."""

from typing import Any

import pytest

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.faults import Stage
from pilotage.framework.api.plugin import CLUSTER
from pilotage.kinds.workloads import Namespace
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity


def test_arguments_have_the_defaults_of_kube_scheduler() -> None:
    arguments = InterPodAffinity.read_arguments({}, ())
    assert arguments.value == {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False}
    assert not arguments.faults


@pytest.mark.parametrize(
    ("given", "stage", "text"),
    [
        pytest.param({"hardPodAffinityWeight": 0}, None, "", id="no weight"),
        pytest.param({"hardPodAffinityWeight": 100}, None, "", id="the largest weight"),
        pytest.param(
            {"hardPodAffinityWeight": 101},
            Stage.VALIDATION,
            "profiles[0].pluginConfig[2].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
            id="too large a weight",
        ),
        pytest.param(
            {"hardPodAffinityWeight": -1},
            Stage.VALIDATION,
            "profiles[0].pluginConfig[2].args.hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]",
            id="a negative weight",
        ),
        pytest.param({"hardWeight": 1}, Stage.STRICTNESS, 'unknown field "hardWeight"', id="an unknown field"),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], stage: Stage | None, text: str) -> None:
    faults = InterPodAffinity.read_arguments(given, ("profiles", 0, "pluginConfig", 2, "args")).faults
    assert [(fault.stage, fault.text) for fault in faults] == ([] if stage is None else [(stage, text)])


@pytest.mark.parametrize("given", [{"hardPodAffinityWeight": "1"}, {"ignorePreferredTermsOfExistingPods": 1}])
def test_arguments_of_another_type_are_refused(given: dict[str, Any]) -> None:
    assert [fault.stage for fault in InterPodAffinity.read_arguments(given, ()).faults] == [Stage.DECODING]


def test_the_plugin_takes_part_where_kube_schedulers_does() -> None:
    point = ExtensionPoint
    assert InterPodAffinity.points() == {point.PRE_FILTER, point.FILTER, point.PRE_SCORE, point.SCORE}
    assert InterPodAffinity.depends_on is CLUSTER
    assert InterPodAffinity.reads == (Namespace,)
