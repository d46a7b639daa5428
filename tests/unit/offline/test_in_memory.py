"""What a simulation has in place of the API server: work is done at once, and results take the place of events."""

import asyncio

import pytest

from pilotage.offline.in_memory import AtOnce, PodsInMemory
from pilotage.offline.results import Results
from pilotage.testing import make_pod


class TestWorkAtOnce:
    def test_it_begins_when_it_may_and_comes_to_its_end_in_order(self) -> None:
        tasks, done = AtOnce(), list[str]()

        async def part(name: str) -> str:
            done.append(name)
            return name

        async def work(name: str) -> None:
            done.extend(str(each) for each in await tasks.side_by_side([part(f"{name}1"), part(f"{name}2")]))

        tasks.start(work("a"))
        tasks.start(work("b"))
        assert (len(tasks), done) == (2, [])
        tasks.finish()
        assert (len(tasks), done) == (0, ["a1", "a2", "a1", "a2", "b1", "b2", "b1", "b2"])

    def test_what_fails_is_returned_and_the_others_go_on(self) -> None:
        tasks, found = AtOnce(), list[object]()

        async def part(number: int) -> int:
            return 1 // number

        async def work() -> None:
            found.extend(await tasks.side_by_side([part(0), part(1)]))

        tasks.start(work())
        tasks.finish()
        assert [type(found[0]), found[1]] == [ZeroDivisionError, 1]

    def test_work_that_waits_is_a_fault(self) -> None:
        tasks = AtOnce()
        work = asyncio.sleep(0)
        tasks.start(work)
        with pytest.raises(AssertionError, match="must not wait"):
            tasks.finish()
        work.close()


class TestPods:
    @pytest.mark.parametrize(
        ("nominate", "node"),
        [
            pytest.param(None, "n1", id="the nomination stands"),
            pytest.param("", "", id="it is cleared"),
            pytest.param("n2", "n2", id="another node is nominated"),
        ],
    )
    def test_a_condition_is_the_result_and_is_known_at_the_next_try(self, nominate: str | None, node: str) -> None:
        results = Results()
        pods, pod = PodsInMemory(results), make_pod("a", status={"nominatedNodeName": "n1"})
        pods.put(pod)
        pods.condition(pod, "Unschedulable", "no room", nominate)
        found = results[pod.key]
        assert (found.message, found.reason, found.nominated_node) == ("no room", "Unschedulable", node)
        known = pods.find(pod.key)
        assert known is not None
        assert known.nominated_node == node

    def test_only_an_eviction_is_an_event_that_counts_and_only_of_pods_of_this_run(self) -> None:
        results = Results()
        pods, here, running = PodsInMemory(results), make_pod("a", node="n1"), make_pod("r", node="n1")
        results.placed(here, {})
        for pod in (here, running):
            pods.record(pod, "Warning", "FailedScheduling", "Scheduling", "why", controller="x")
            pods.record(pod, "Normal", "Preempted", "Preempting", "by whom", controller="x")
        assert [(each.name, each.node, each.message) for each in results] == [("a", None, "by whom")]
