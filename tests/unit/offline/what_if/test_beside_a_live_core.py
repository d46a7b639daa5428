"""What-if beside a core that runs: it says what then happens, and changes nothing of what runs."""

import asyncio
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.live_core import LiveCore, One
from kit.what_if_ground import deployment, pod_spec, running
from pilotage.app import configured, simulation
from pilotage.app.core import Core
from pilotage.app.what_if_live import WhatIfs
from pilotage.framework.api.verdicts import Wait
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.new_pods import Copies, read_new_pods
from pilotage.offline.what_if.request import WrongRequest, read
from pilotage.offline.what_if.run import exhaust, run
from pilotage.offline.what_if.world import Scheduling, World, moment_of
from pilotage.offline.what_if.worlds import KEPT_FOR, Busy, Worlds
from pilotage.plugins.nodes.node_unschedulable import NodeUnschedulable
from pilotage.plugins.nodes.taint_toleration import TaintToleration
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.plugins.pods.default_binder import DefaultBinder
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.plugins.volumes.volume_binding.volume_binding import VolumeBinding
from pilotage.profiles import Profile
from pilotage.testing import make_pod, plugin_set_of
from pilotage.testing.storage import claim_volumes, make_claim, make_storage_class, make_volume

CPUS = st.integers(1, 4)
NODES = st.lists(
    st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=6
)  # cores, and whether it is cordoned
PODS = st.lists(st.tuples(CPUS, st.integers(0, 2)), max_size=8)  # cores and priority
OFTEN = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def scheduling(*, like: Core) -> Scheduling:
    """Return the plugins of `LiveCore`, made anew."""

    def made(cache: Any, _specs: Any, _evicting: bool) -> Any:
        plugins = NodeUnschedulable(), TaintToleration(), NodeResourcesFit(), DefaultPreemption(), DefaultBinder()
        profile = Profile("default-scheduler", plugin_set_of(PrioritySort(), *plugins), 0)
        return simulation({"default-scheduler": profile}, cache=cache)

    assert set(like.engines) == {"default-scheduler"}
    return Scheduling(made)


async def filled(nodes: Iterable[tuple[int, bool]], pods: Iterable[tuple[int, int]]) -> LiveCore:
    live = LiveCore()
    for number, (cores, cordoned) in enumerate(nodes):
        live.add_node(f"n{number}", cpu=str(cores), memory="64Gi", unschedulable=cordoned)
    names = [info.name for info in live.core.cache.columns.infos]
    for number, (cores, priority) in enumerate(pods):
        pod = running(f"old-{number}", names[number % len(names)], cpu=cores, priority=priority)
        live.api.pods[pod.key] = pod
        live.core.pods.added(pod)
    return live


def fingerprint(core: Core) -> list[Any]:
    """Return all that could have changed."""
    cache, queue, columns = core.cache, core.queue, core.cache.columns
    infos = [(id(each), id(each.node), each.slot, each.changes, dict(each.requested)) for each in columns.infos]
    pods = [(uid, id(pod)) for each in columns.infos for uid, pod in each.pods.items()]
    arrays = [columns.pod_count.tolist(), columns.unschedulable.tolist(), columns.requested("cpu").tolist()]
    versions = columns.pods_version, columns.static_version, cache.objects.changes, queue.nominator.version
    followers = list(map(id, cache._followers))
    waiting = [
        (each.key, id(each.pod), each.attempts, each.timestamp, each.place and each.place.name) for each in queue
    ]
    return [infos, pods, arrays, versions, followers, waiting, cache.sizes(), queue.cycles, dict(queue.incoming)]


@OFTEN
@given(nodes=NODES, pods=PODS, cpu=CPUS, replicas=st.integers(1, 8), priority=st.integers(0, 2))
async def test_it_says_what_then_happens(
    nodes: list[tuple[int, bool]], pods: list[tuple[int, int]], cpu: int, replicas: int, priority: int
) -> None:
    live = await filled(nodes, pods)
    manifest = deployment(replicas=replicas, cpu=str(cpu), priority=priority)
    world = World(moment_of(live.core.cache, live.core.queue), scheduling(like=live.core))
    answer = exhaust(run(read({"changes": [{"add": {"manifests": [manifest]}}]}), world))
    new = read_new_pods([manifest], [])
    arrivals = list(Copies(new, lambda _key: False, list).next())
    live.create(*(each.pod for each in arrivals))
    for _ in range(4 * replicas):  # victims leave when they were told to, and whoever waits for that goes on
        await live.settle()
        for name in live.api.evictions:
            if (victim := live.api.pods.get(f"default/{name}")) is not None:
                live.delete(victim)
    bound = dict(live.api.binds)
    assert set(bound) == {row.pod.partition("/")[2] for row in answer.rows}
    assert set(live.api.evictions) == {each.pod.partition("/")[2] for each in answer.evictions}
    if not answer.evictions:
        assert bound == {row.pod.partition("/")[2]: row.node for row in answer.rows}, "one seed, one choice"


CHANGES: list[dict[str, Any]] = [
    {"add": {"manifests": [deployment(replicas=3, priority=5)]}},
    {"addNodes": {"like": "n0", "count": 2}},
    {"drain": {"nodes": ["n0"]}},
    {"removeNodes": {"nodes": ["n0"]}},
    {"cordon": {"nodes": ["n0"]}},
    {"label": {"nodes": ["n0"], "labels": {"a": "b"}}},
    {"taint": {"nodes": ["n0"], "taints": [{"key": "a", "effect": "NoExecute"}]}},
    {"quota": {"namespace": "default", "name": "q", "max": {"cpu": 1}}},
]


@OFTEN
@given(
    nodes=NODES,
    pods=PODS,
    waiting=st.lists(CPUS, max_size=3),
    changes=st.lists(st.sampled_from(CHANGES), min_size=1, max_size=4, unique_by=str),
    ask=st.sampled_from([["placements", "others"], ["fill", "placements"]]),
)
async def test_nothing_of_what_runs_changes(
    nodes: list[tuple[int, bool]],
    pods: list[tuple[int, int]],
    waiting: list[int],
    changes: list[dict[str, Any]],
    ask: list[str],
) -> None:
    live = await filled(nodes, pods)
    live.create(*(make_pod(f"waits-{number}", cpu=cores) for number, cores in enumerate(waiting)))
    if not any("add" in change for change in changes):
        changes = [CHANGES[0], *changes]
    changes.sort(key=lambda change: "removeNodes" in change)  # who is gone cannot be drained any more
    before = fingerprint(live.core)
    world = World(moment_of(live.core.cache, live.core.queue), scheduling(like=live.core))
    for _ in range(2):  # the second question finds the world that the first one has left
        for _ in run(read({"changes": changes, "ask": ask}), world):
            assert fingerprint(live.core) == before
        assert fingerprint(live.core) == before


async def test_the_cluster_may_change_between_two_slices() -> None:
    live = await filled([(4, False)] * 40, [(1, 0)] * 80)
    steps = run(
        read({"changes": [CHANGES[0]]}), World(moment_of(live.core.cache, live.core.queue), scheduling(like=live.core))
    )
    random, gone = Random(3), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answer: WhatIfAnswer = end.value
            break
        if gone < 30:
            infos = live.core.cache.columns.infos
            live.core.nodes.deleted(infos[random.randrange(len(infos))].node)
            gone += 1
    assert answer.verdict == "fits"


# ------------------------------------------------------------------------------------------------------ many at once


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


async def test_a_copy_is_kept_for_the_next_question_and_not_for_long() -> None:
    live, clock = await filled([(4, False)], []), Clock()
    made = scheduling(like=live.core)

    def moment() -> Any:
        found = moment_of(live.core.cache, live.core.queue)
        return type(found)(found.nodes, found.placed, found.waiting, at=clock())

    worlds = Worlds(moment, lambda: made, clock)
    first = worlds.take()
    worlds.give_back(first)
    assert worlds.take() is first
    second = worlds.take()
    with pytest.raises(Busy, match="ask again in a second"):
        worlds.take()
    worlds.give_back(second, whole=False)
    worlds.give_back(first)
    assert len(worlds) == 1, "what was left half done is of no use"
    clock.now += KEPT_FOR
    worlds.tick()
    assert len(worlds) == 0


class Figures:
    """Has no figures, and remembers who was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def as_of_now(self, query: Any) -> None:
        """Return nothing."""
        self.asked.append(query.watcher_address)

    def subscribe(self, query: Any) -> None:
        """Fail: nobody may be asked for a question."""
        raise AssertionError(query)


async def test_a_profile_in_a_question_has_nobody_asked_for_figures() -> None:
    live, figures = await filled([(4, False)], []), Figures()
    ready = configured(None)
    plugins = [{"name": "TargetLoadPacking", "args": {"watcherAddress": "http://inside.example.com:2020"}}]
    request = read({"profile": {"plugins": plugins}, "changes": [CHANGES[0]]})
    answer = exhaust(WhatIfs(live.core, lambda: ready, figures).steps(request))
    assert answer.pods.placed == 3
    assert set(figures.asked) == {"http://inside.example.com:2020"}


async def test_a_running_scheduler_answers() -> None:
    live = await filled([(4, False)], [])
    ready = configured(None)
    what_ifs = WhatIfs(live.core, lambda: ready)
    answer = exhaust(what_ifs.steps(read({"changes": [CHANGES[0]]}), revision=7))
    assert (answer.source, answer.revision, answer.pods.placed) == ("live", 7, 3)
    for _ in range(3):
        with pytest.raises(WrongRequest, match="there is no node x"):
            exhaust(what_ifs.steps(read({"changes": [{"cordon": {"nodes": ["x"]}}]})))
    assert exhaust(what_ifs.steps(read({"changes": [CHANGES[0]]}))).at == answer.at, "of the same copy"


# ------------------------------------------------------------------------------------------------- pods under way

THREE: dict[str, Any] = {"addPods": {"requests": {"cpu": "1"}, "copies": 3}}


@pytest.mark.parametrize(
    "answers",
    [{"permit": Wait(1000)}, {"pre_bind": "later"}, {}],
    ids=["it waits in permit", "it waits before its bind", "its bind is sent and not answered"],
)
async def test_a_pod_under_way_takes_its_capacity(answers: dict[str, Any]) -> None:
    future = asyncio.get_running_loop().create_future()
    live = LiveCore(One(answers={step: future if answer == "later" else answer for step, answer in answers.items()}))
    live.add_node("n1", cpu="3")
    live.api.answers["under-way"] = future
    live.create(make_pod("under-way", cpu="1"))
    await live.settle()
    assert live.place(live.api.pods["default/under-way"]) == "binding"
    ready = configured(None)
    answer = exhaust(WhatIfs(live.core, lambda: ready).steps(read({"changes": [THREE]})))
    assert (answer.pods.placed, answer.pods.waiting) == (2, 1)
    assert answer.use["cpu"].before.requested == 1000
    future.cancel()


async def test_a_pod_that_is_being_decided_comes_first() -> None:
    live = await filled([(3, False)], [])
    live.create(make_pod("asked-about-elsewhere", cpu="1"))  # by an extender, for instance
    assert live.core.queue.pop() is not None
    live.create(make_pod("waits", cpu="1"))
    moment = moment_of(live.core.cache, live.core.queue)
    assert [pod.name for pod in moment.waiting] == ["asked-about-elsewhere", "waits"]
    answer = exhaust(run(read({"changes": [THREE]}), World(moment, scheduling(like=live.core))))
    assert (answer.pods.placed, answer.pods.waiting) == (1, 2)


async def test_volumes_that_a_pod_under_way_reserves_are_taken() -> None:
    future = asyncio.get_running_loop().create_future()
    live = LiveCore(One(answers={"pre_bind": future}), VolumeBinding())
    live.add_node("n1", cpu="8")
    claimed = make_claim("a", storage_class="local", size="1Gi")
    for each in (make_storage_class("local"), make_volume("only", storage_class="local"), claimed):
        live.core.objects.added(each)
    live.create(make_pod("under-way", spec=claim_volumes("a")))
    await live.settle()
    assert live.place(live.api.pods["default/under-way"]) == "binding"
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "b"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}, "spec": pod_spec(**claim_volumes("b"))}
    ready = configured(None)
    what_ifs = WhatIfs(live.core, lambda: ready)
    answer = exhaust(what_ifs.steps(read({"changes": [{"add": {"manifests": [claim, pod]}}]})))
    assert answer.waiting[0].reason.startswith(
        "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
    )
    future.cancel()
