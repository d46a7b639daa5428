"""What the watch over plugins finds reaches metrics, the operator and the next swap."""

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pilotage.app import plugin_watch
from pilotage.app.options import FollowedConfigMap
from pilotage.app.plugin_watch import PluginWatch
from pilotage.app.policy_health import PolicyHealth
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.plugin import FollowsPods, Score
from pilotage.framework.runtime.call_watch import WATCH, Overrun, Suspicion
from pilotage.framework.runtime.watchdog import WATCHDOG
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage.profiles import Profile
from pilotage.telemetry.metrics import Metrics
from pilotage.testing import make_pod, plugin_set_of


class Mine(Score):
    """One of somebody's own."""


class World:
    """A profile with that plugin, and what is told of it."""

    def __init__(self) -> None:
        self.plugin = Mine()
        self.profiles = {
            "batch": Profile("batch", plugin_set_of(self.plugin), 0),
            "plain": Profile("plain", plugin_set_of(), 0),
        }
        self.metrics = Metrics()
        self.told: list[tuple[str, str, str]] = []
        self.policy_health = PolicyHealth(lambda *words: self.told.append(words), lambda: None)
        self.watch = PluginWatch(self.profiles, self.metrics, self.policy_health)


@pytest.fixture
def world() -> Iterator[World]:
    yield World()
    WATCH.on_overrun, WATCH.on_failing = lambda _: None, lambda *_: None
    WATCHDOG.on_stalled = lambda *_: None
    WATCHDOG.on_hopeless = lambda: None


def test_calls_that_took_too_long_are_counted_and_told_after_the_third(world: World) -> None:
    for _ in range(3):
        WATCH.on_overrun(Overrun(world.plugin, "score", make_pod("a"), 1.0, "it did not return within 1s in score"))
    assert world.told == [("batch", "Mine", "plugin Mine: it did not return within 1s in score (pod default/a)")]
    expected = 'pilotage_plugin_budget_exceeded_total{plugin="Mine",extension_point="Score",profile="batch"} 3'
    assert expected in world.metrics.text().decode()


def test_a_change_elsewhere_tells_it_again_and_a_new_plugin_does_not(world: World) -> None:
    for _ in range(3):
        WATCH.on_overrun(Overrun(world.plugin, "helps", None, 1.0, "it did not answer"))
    world.policy_health.begin()
    assert [words[0] for words in world.told] == ["batch", "batch"]
    world.profiles["batch"] = Profile("batch", plugin_set_of(Mine()), 0)
    world.policy_health.begin()
    assert len(world.told) == 2


def test_a_method_that_always_fails_is_told_at_once(world: World) -> None:
    WATCH.on_failing(world.plugin, "post_bind", "post_bind fails every time: ValueError: no")
    assert world.told == [("batch", "Mine", "post_bind fails every time: ValueError: no")]


@pytest.mark.parametrize("scheduler", ["batch", ""], ids=["with a pod", "without one, the plugin's profile"])
def test_a_call_that_the_process_before_did_not_survive(world: World, scheduler: str) -> None:
    found = Suspicion("Mine", "score", scheduler, "1", "default/a", 1, 0.0)
    world.watch.report_crash(found)
    assert world.told == [("batch", "Mine", found.message)]


def test_what_holds_the_main_thread_is_written_by_another_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, str, Mapping[str, str]]] = []

    class Client:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        async def close(self) -> None: ...

    async def annotate(_: Any, namespace: str, name: str, annotations: Mapping[str, str]) -> None:
        written.append((namespace, name, annotations))

    monkeypatch.setattr(plugin_watch, "ApiClient", Client)
    monkeypatch.setattr(plugin_watch, "annotate_once", annotate)
    place = FollowedConfigMap("own", "config", "own", "scheduler-1")
    world.watch.report_stalled(place, None, "agent", lambda: "abc")  # type: ignore[arg-type]
    thread = threading.Thread(target=WATCHDOG.on_stalled, args=(world.plugin, "score", "it has not returned for 6s"))
    thread.start()
    thread.join()
    ((namespace, name, annotations),) = written
    assert (namespace, name) == ("own", "scheduler-1")
    assert json.loads(annotations["pilotage.dev/config-trouble"]) == {
        "kind": "stalled",
        "hash": "abc",
        "schedulerName": "batch",
        "plugin": "Mine",
        "message": "it has not returned for 6s",
    }


def test_a_plugin_that_cannot_begin_is_refused_whole() -> None:
    class Follows(Score, FollowsPods):
        def pod_placed(self, pod: Pod) -> None: ...

    class Refuses(Score):
        def start(self, handle: Handle) -> None:
            raise SystemExit("no")

    cache, profile = ClusterCache(), Profile("batch", plugin_set_of(Follows(), Refuses()), 0)
    with pytest.raises(BrokenPlugin, match="Refuses cannot start: SystemExit: no"):
        engines({"batch": profile}, cache)
    assert not cache._followers
