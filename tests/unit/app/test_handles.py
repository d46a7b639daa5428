"""What a plugin gets from outside, from its beginning to its end."""

import logging
from typing import Any

import pytest

from pilotage.app.handles import Handles
from pilotage.app.profile_engines import engines, release_plugins
from pilotage.config.sharing import OwnNodes
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Score
from pilotage.kinds.workloads import Service
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.profiles import Profile
from pilotage.testing import FakeCluster, make_node, make_pod, plugin_set_of

CLUSTER = FakeCluster([make_node("n1", labels={"pool": "a"}), make_node("n2")])
SERVICE = Service(Metadata(name="web", namespace="shop"))


class Curious(Score):
    """Keeps its handle, and is told of services."""

    def start(self, handle: Handle) -> None:
        super().start(handle)
        BEGUN.append(self)
        handle.on_change(Service, self.told)

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return 0

    def told(self, changed: object) -> None:
        TOLD.append(changed)


BEGUN: list[Curious] = []
TOLD: list[object] = []


@pytest.fixture(autouse=True)
def _anew() -> None:
    BEGUN.clear()
    TOLD.clear()


def profile(plugin: Curious, **nodes: Any) -> dict[str, Profile]:
    own = OwnNodes.model_validate(nodes)
    return {"batch": Profile("batch", plugin_set_of(PrioritySort(), plugin), 0, nodes=own)}


def test_a_plugin_begins_once_and_goes_on_with_what_its_profile_has_now() -> None:
    handles, plugin = Handles(CLUSTER.cache), Curious()
    running = engines(profile(plugin), CLUSTER.cache, handles=handles)
    handle = plugin.handle
    assert [node.name for node in handle.nodes()] == ["n1", "n2"]
    other = profile(plugin, selector={"matchLabels": {"pool": "a"}})
    assert engines(other, CLUSTER.cache, running, handles)["batch"] is not running["batch"]
    assert [plugin] == BEGUN
    assert plugin.handle is handle
    assert [node.name for node in handle.nodes()] == ["n1"]


def test_a_plugin_that_ended_is_told_nothing_more() -> None:
    handles, plugin = Handles(CLUSTER.cache), Curious()
    running = engines(profile(plugin), CLUSTER.cache, handles=handles)
    handles.changes.notify(SERVICE)
    release_plugins(handles, running.values(), {})
    handles.changes.notify(SERVICE)
    assert TOLD == [SERVICE]


def test_one_that_fails_keeps_nobody_else_from_what_changed(caplog: pytest.LogCaptureFixture) -> None:
    handles = Handles(CLUSTER.cache)

    def fail(changed: object) -> None:
        raise RuntimeError("not now")

    handles.changes.follow(Service, fail)
    handles.changes.follow(Service, TOLD.append)
    with caplog.at_level(logging.ERROR):
        handles.changes.notify(SERVICE)
    assert TOLD == [SERVICE]
    assert "RuntimeError: not now" in caplog.text


def test_events_are_told_in_the_name_of_the_profile() -> None:
    said = []

    class Recorder:
        def record(self, pod: Pod, *words: str, controller: str, once: bool = False) -> None:
            said.append((pod.key, *words, controller))

    handles, plugin = Handles(CLUSTER.cache, recorder=Recorder()), Curious()
    engines(profile(plugin), CLUSTER.cache, handles=handles)
    plugin.handle.events.record(make_pod("web"), "NoPower", "the rack is full", warning=True)
    assert said == [("default/web", "Warning", "NoPower", "Scheduling", "the rack is full", "batch")]
