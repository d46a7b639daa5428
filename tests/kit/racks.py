"""examples/plugins/rack_power.py, a plugin with a custom resource of its own, and what it needs on a cluster."""

from typing import Any

import yaml

from kit.commands import Kubectl
from localcluster.paths import REPOSITORY

FILE = "rack_power.py"
PLUGIN = (REPOSITORY / "examples" / "plugins" / FILE).read_text()
RACKS = "/apis/power.example.com/v1/rackpowers"
DEFINITION = "crd/rackpowers.power.example.com"
RULE = {"apiGroups": ["power.example.com"], "resources": ["rackpowers"], "verbs": ["list", "watch", "patch"]}
ENTRY = {"name": "RackPowerFit", "weight": 100}
RACK, WATTS = "power.example.com/rack", "power.example.com/watts"
LAST_POD = "power.example.com/last-pod"
MALFORMED = "a rack whose RackPower cannot be decoded"
NOT_ENOUGH = "a rack without enough power"
NO_DEFINITION = (
    "RackPowerFit needs rackpowers.power.example.com, which the cluster does not serve; install the "
    "CustomResourceDefinition rackpowers.power.example.com, or disable RackPowerFit"
)
NO_RIGHT = "RackPowerFit requires list, watch, patch on rackpowers.power.example.com, which system:serviceaccount:"


def definition() -> dict[str, Any]:
    """The definition of the example, which lets everything pass: the scheduler must bear more than it allows."""
    found: dict[str, Any] = yaml.safe_load((REPOSITORY / "examples/rack-power/definition.yaml").read_text())
    lax = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = lax
    return found


def define(kubectl: Kubectl) -> None:
    """Install the definition, and wait until the API server serves it."""
    kubectl.apply(definition())
    kubectl.until_established(DEFINITION)


def rack(name: str, watts: int, used: int) -> dict[str, Any]:
    """A rack with so much power, and so much of it used."""
    api = {"apiVersion": "power.example.com/v1", "kind": "RackPower"}
    return {**api, "metadata": {"name": name}, "spec": {"watts": watts, "used": used}}


def rule_in(message: str) -> Any:
    """The rule that a condition's message tells to add to the chart's values."""
    return yaml.safe_load(message.partition("add to rbac.extraRules of the chart: ")[2].partition(" (")[0])
