"""A plugin of somebody else with a custom resource of its own, mounted by values on real nodes.

Its file is in the values from the first install on; definition, right and objects come later, and change.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import racks
from kit.control_plane import NO_OWN_NODES, without_own_nodes
from kit.installed import NAMESPACE, RELEASE, SCHEDULER, Installed, Manifest, real_nodes
from pilotage.config.handshake import text_hash
from pilotage.testing import pod_manifest

pytestmark = [pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES), pytest.mark.full]

LOW, HIGH = "low", "high"


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installed]:
    """Helm 4, pointed at a cluster of its own."""
    with real_nodes("racks", tmp_path) as cluster:
        yield Installed(cluster, cluster.helm(4), tmp_path)


def values(*rules: Manifest, enabled: bool = True, plugin: str = racks.PLUGIN) -> Manifest:
    return {
        "scheduler": {"name": SCHEDULER, "customPlugins": {racks.FILE: plugin}},
        "plugins": {"enabled": [racks.ENTRY] if enabled else []},
        "rbac": {"extraRules": list(rules)},
    }


def test_pods_follow_the_objects_of_a_plugin_that_values_mount(installed: Installed) -> None:
    kubectl = installed.kubectl
    low, high = sorted(installed.cluster.cluster.nodes)

    # 1. Without the definition and then without the right, the condition tells what is missing; what runs goes on.
    installed.upgrade(values(enabled=False))
    installed.until(installed.is_ready, "the profile is Ready without the plugin")
    installed.upgrade(values())
    until_refused(installed, "MissingCRD", racks.NO_DEFINITION)
    create(installed, "before")
    until_runs(installed, "before")
    racks.define(kubectl)
    rule = racks.rule_in(until_refused(installed, "MissingPermission", racks.NO_RIGHT))
    assert rule == racks.RULE, "it can be copied"
    installed.upgrade(values(rule))
    installed.until(installed.is_ready, "the profile is Ready with the plugin")
    assert installed.plugin_files() == [text_hash(racks.PLUGIN)]
    pods = release_pods(installed)

    # 2. Pods go where their objects say, and the last one of a rack is noted on it before it is bound.
    kubectl.apply(racks.rack(LOW, 12_000, 11_900), racks.rack(HIGH, 12_000, 4_000))
    for node, name in ((low, LOW), (high, HIGH)):
        kubectl("label", "node", node, f"{racks.RACK}={name}")
    for pod, watts in (("small", 50), ("large", 700)):  # the first fits everywhere, the second only there
        create(installed, pod, watts)
        until_runs(installed, pod, high)
        assert kubectl.get("rackpowers", HIGH)["metadata"]["annotations"][racks.LAST_POD] == f"default/{pod}"

    # 3. A changed object wakes who waits for it.
    create(installed, "huge", 9_000)
    until_told(installed, "huge", racks.NOT_ENOUGH)
    change(installed, LOW, watts=30_000)
    until_runs(installed, "huge", low)

    # 4. One that cannot be decoded is reported, by pods and in the log, until it can.
    change(installed, LOW, watts="lots")
    create(installed, "greedy", 8_500)
    until_told(installed, "greedy", racks.MALFORMED)
    said = f"rackpowers.power.example.com {LOW} cannot be decoded: Expected `int`, got `str`"
    installed.until(lambda: said in logged(installed), "the log says why")
    change(installed, LOW, watts=30_000)
    until_runs(installed, "greedy", low)

    # 5. An edited file declares its kind again; pods of other plugins than this one never wait for it.
    create(installed, "giant", 50_000)
    until_told(installed, "giant", racks.NOT_ENOUGH)
    edited = racks.PLUGIN.replace(racks.NOT_ENOUGH, "a rack that is too weak")
    installed.upgrade(values(racks.RULE, plugin=edited))
    until_told(installed, "giant", "a rack that is too weak")
    create(installed, "plain")
    until_runs(installed, "plain")
    assert installed.plugin_files() == [text_hash(edited)]
    assert release_pods(installed) == pods, "no pod of the release was replaced or restarted for any of this"


def create(installed: Installed, name: str, watts: int | None = None) -> None:
    annotations = None if watts is None else {racks.WATTS: str(watts)}
    installed.kubectl.create(pod_manifest(name, scheduler=SCHEDULER, cpu="10m", annotations=annotations))


def change(installed: Installed, name: str, **spec: object) -> None:
    installed.kubectl("patch", "rackpower", name, "--type=merge", "-p", json.dumps({"spec": spec}))


def until_refused(installed: Installed, reason: str, words: str) -> str:
    """Wait until the profile is refused for a reason, and return the message."""
    installed.until(lambda: installed.condition("Accepted").get("reason") == reason, f"it is refused: {reason}")
    message = str(installed.condition("Accepted")["message"])
    assert words in message
    return message


def until_runs(installed: Installed, name: str, node: str = "") -> None:
    """Wait until a pod runs; a kubelet has started it then."""
    installed.until(lambda: pod(installed, name)["status"].get("phase") == "Running", f"{name} runs")
    assert not node or pod(installed, name)["spec"]["nodeName"] == node


def until_told(installed: Installed, name: str, words: str) -> None:
    """Wait until a pod says why it has no node."""
    installed.until(lambda: words in message_of(installed, name), f"{name} says {words!r}")
    assert "nodeName" not in pod(installed, name)["spec"]


def message_of(installed: Installed, name: str) -> str:
    conditions = pod(installed, name)["status"].get("conditions", [])
    return next((str(each.get("message", "")) for each in conditions if each["type"] == "PodScheduled"), "")


def pod(installed: Installed, name: str) -> Manifest:
    found: Manifest = installed.kubectl.get("pod", name)
    return found


def logged(installed: Installed) -> str:
    selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=scheduler"
    return installed.kubectl("logs", "-n", NAMESPACE, "-l", selector, "--tail=-1")


def release_pods(installed: Installed) -> dict[str, int]:
    """Return how often each pod of the release was restarted, by its uid."""
    items = installed.kubectl.get("pods", "-n", NAMESPACE)["items"]
    return {item["metadata"]["uid"]: sum(map(restarts, item["status"].get("containerStatuses", []))) for item in items}


def restarts(status: Manifest) -> int:
    return int(status["restartCount"])
