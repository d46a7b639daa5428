"""What is said of a plugin that lacks a right or a definition, whoever wrote it."""

import pytest

from pilotage.framework.api.plugin import PreFilter
from pilotage.kinds.kube_object import KubeObject
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.profiles.rights import missing
from pilotage_operator.profiles.world import Answer, Right


class RackPower(KubeObject, group="power.example.com", version="v1", plural="rackpowers", scope="Cluster"):
    """A kind of somebody else."""


class RackFit(PreFilter):
    """A plugin of somebody else."""

    reads = (RackPower,)


GRANT = "add to rbac.extraRules of the chart: {apiGroups: [power.example.com], resources: [rackpowers], verbs: [VERBS]}"
MUST = "spec.plugins[name=RackFit]: RackFit requires VERBS on rackpowers.power.example.com, which me is not granted"
DEFINE = "install the CustomResourceDefinition rackpowers.power.example.com, or disable RackFit"
UNSERVED = "spec.plugins[name=RackFit]: RackFit needs rackpowers.power.example.com, which the cluster does not serve"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param({}, [], id="allowed"),
        pytest.param(
            {"list": "denied", "watch": "denied"},
            [("MissingPermission", f"{MUST}; {GRANT}".replace("VERBS", "list, watch"))],
            id="without rights",
        ),
        pytest.param(
            {"watch": "denied"}, [("MissingPermission", f"{MUST}; {GRANT}".replace("VERBS", "watch"))], id="without one"
        ),
        pytest.param(
            {"list": "unserved", "watch": "unserved"},
            [
                (
                    "MissingCRD",
                    f"{UNSERVED}; {DEFINE}",
                )
            ],
            id="without a definition",
        ),
    ],
)
def test_a_plugin_of_somebody_else(answers: dict[str, Answer], expected: list[tuple[str, str]]) -> None:
    catalogue = built_in()
    catalogue.add(RackFit, "rack_fit.py")
    judge = Judge(catalogue)
    verdict = judge.judge("p", {"plugins": [{"name": "RackFit"}]})
    rights = {Right("power.example.com", "rackpowers", verb): answer for verb, answer in answers.items()}
    found = missing(verdict, rights, "me", judge.has_built_in)
    assert [(each.reason, each.message) for each in found] == expected
