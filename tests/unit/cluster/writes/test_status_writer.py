import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.cluster.transport.api_errors import OutcomeUnknown, Unreachable
from pilotage.cluster.write.status_writer import StatusWriter
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime


def a_pod(name: str = "web", version: int = 1, node: str | None = None, **status: Any) -> Pod:
    return make_pod(name, uid=name, node=node, metadata={"resourceVersion": str(version)}, status=status)


def message_of(call: Any) -> Any:
    return call.body["status"]["conditions"][0]["message"]


async def a_while() -> None:
    await asyncio.sleep(0.001)


async def test_what_is_sent(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    writer = StatusWriter(api, clock=lambda: 0.0)
    writer.condition(a_pod(), "Unschedulable", "no room", "n1")
    assert not writer.is_idle
    await while_running(writer, writer.flush())
    (call,) = api.calls
    assert (call.verb, call.path) == ("PATCH", "/api/v1/namespaces/default/pods/web/status")
    assert call.body["metadata"] == {"uid": "web"}
    assert call.body["status"]["nominatedNodeName"] == "n1"
    assert message_of(call) == "no room"
    assert writer.is_idle


async def test_nothing_is_sent_that_the_pod_says_already(fake_api: Any, while_running: Any) -> None:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    api = fake_api()
    writer = StatusWriter(api, newest=lambda pod: a_pod(conditions=[said], nominatedNodeName="n1"))
    writer.condition(a_pod(), "Unschedulable", "no room", "n1")
    await while_running(writer, writer.flush())
    assert api.calls == []


@pytest.mark.parametrize(
    "newest",
    [
        pytest.param(lambda pod: None, id="a pod that is gone"),
        pytest.param(lambda pod: a_pod(node="n9"), id="a pod that somebody bound"),
    ],
)
async def test_nothing_is_sent_to(fake_api: Any, while_running: Any, newest: Callable[[Pod], Pod | None]) -> None:
    api = fake_api()
    writer = StatusWriter(api, newest=newest)
    writer.condition(a_pod(), "Unschedulable", "no room")
    await while_running(writer, writer.flush())
    assert api.calls == []


async def test_only_the_newest_of_what_waits_is_sent(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    writer = StatusWriter(api)
    writer.condition(a_pod(), "Unschedulable", "first", "n1")
    writer.condition(a_pod(), "Unschedulable", "second")
    writer.nominate(a_pod("other"), "n2")
    writer.clear_nominations([a_pod("third", nominatedNodeName="n3")])
    await while_running(writer, writer.flush())
    assert [message_of(call) for call in api.calls[:1]] == ["second"]
    assert [call.body["status"].get("nominatedNodeName") for call in api.calls] == ["n1", "n2", None]


async def test_one_pod_at_a_time_and_pods_beside_each_other(fake_api: Any, while_running: Any) -> None:
    answer = asyncio.get_running_loop().create_future()
    api = fake_api(answer)

    async def scenario() -> None:
        writer.condition(a_pod("a"), "Unschedulable", "a1")
        await a_while()
        writer.condition(a_pod("a"), "Unschedulable", "a2")
        writer.condition(a_pod("a"), "Unschedulable", "a3")
        writer.condition(a_pod("b"), "Unschedulable", "b1")
        await a_while()
        assert [message_of(call) for call in api.calls] == ["a1", "b1"]
        answer.set_result({"metadata": {}})
        await writer.flush()
        assert [message_of(call) for call in api.calls] == ["a1", "b1", "a3"]

    writer = StatusWriter(api)
    await while_running(writer, scenario())


async def test_what_was_written_counts_before_the_watch_shows_it(fake_api: Any, while_running: Any) -> None:
    def written(call: Any) -> Any:
        return {"metadata": {"resourceVersion": "7"}, "status": call.body["status"]}

    known = {"version": 1}
    api = fake_api(written, written, written)
    writer = StatusWriter(api, newest=lambda pod: a_pod(version=known["version"]))

    async def scenario() -> None:
        for message, version in [("one", 1), ("one", 1), ("two", 1), ("two", 6), ("two", 7)]:
            known["version"] = version
            writer.condition(a_pod(), "Unschedulable", message)
            await writer.flush()

    await while_running(writer, scenario())
    # At version 7 the watch shows a pod without the condition: somebody took it away.
    assert [message_of(call) for call in api.calls] == ["one", "two", "two"]


class TestTrouble:
    @pytest.mark.parametrize("status", [409, 429, 500, 503])
    async def test_that_passes(self, fake_api: Any, refusal: Any, while_running: Any, status: int) -> None:
        api = fake_api(refusal(status), Unreachable("down"), OutcomeUnknown("reset"))
        writer = StatusWriter(api)
        writer.condition(a_pod(), "Unschedulable", "no room")
        await while_running(writer, writer.flush())
        first, second, third, fourth = api.times
        assert 0.010 <= second - first <= 0.0111
        assert 0.050 <= third - second <= 0.0551
        assert 0.250 <= fourth - third <= 0.2751

    @pytest.mark.parametrize(
        ("status", "attempts", "logged"),
        [
            pytest.param(503, 4, True, id="that stays is given up and logged"),
            pytest.param(403, 1, True, id="that nothing can mend is logged"),
            pytest.param(404, 1, False, id="a pod that is gone is none"),
        ],
    )
    async def test_that(
        self,
        fake_api: Any,
        refusal: Any,
        while_running: Any,
        caplog: pytest.LogCaptureFixture,
        status: int,
        attempts: int,
        logged: bool,
    ) -> None:
        api = fake_api(*(refusal(status, "sorry") for _ in range(attempts)))
        writer = StatusWriter(api)
        writer.condition(a_pod(), "Unschedulable", "no room")
        await while_running(writer, writer.flush())
        assert len(api.calls) == attempts
        assert ("default/web was not written: sorry" in caplog.text) is logged

    async def test_the_next_attempt_takes_what_came_meanwhile(
        self, fake_api: Any, refusal: Any, while_running: Any
    ) -> None:
        api = fake_api(refusal(503))
        writer = StatusWriter(api)

        async def scenario() -> None:
            writer.condition(a_pod(), "Unschedulable", "first", "n1")
            await a_while()
            writer.condition(a_pod(), "Unschedulable", "second")
            await writer.flush()

        await while_running(writer, scenario())
        assert [message_of(call) for call in api.calls] == ["first", "second"]
        assert api.calls[1].body["status"]["nominatedNodeName"] == "n1"

    async def test_with_what_came_while_it_was_asked(self, fake_api: Any, refusal: Any, while_running: Any) -> None:
        answer = asyncio.get_running_loop().create_future()
        api = fake_api(answer)
        writer = StatusWriter(api)

        async def scenario() -> None:
            writer.condition(a_pod(), "Unschedulable", "first", "n1")
            await a_while()
            writer.condition(a_pod(), "Unschedulable", "second")
            answer.set_exception(refusal(503))
            await writer.flush()

        await while_running(writer, scenario())
        assert [message_of(call) for call in api.calls] == ["first", "second"]
        assert api.calls[1].body["status"]["nominatedNodeName"] == "n1"

    async def test_of_our_own_stops_one_pod_only(
        self, fake_api: Any, while_running: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        api = fake_api(ZeroDivisionError("bug"))
        writer = StatusWriter(api, workers=1)
        writer.condition(a_pod("a"), "Unschedulable", "no room")
        writer.condition(a_pod("b"), "Unschedulable", "no room")
        await while_running(writer, writer.flush())
        assert len(api.calls) == 2
        assert "the status of pod a was not written" in caplog.text


class TestDrop:
    async def test_what_waits_is_not_sent(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        writer = StatusWriter(api)
        writer.condition(a_pod(), "Unschedulable", "no room")
        assert writer.drop("web") is False
        assert writer.is_idle
        await while_running(writer, a_while())
        assert api.calls == []

    async def test_a_bind_can_wait_for_what_is_under_way(self, fake_api: Any, while_running: Any) -> None:
        answer = asyncio.get_running_loop().create_future()
        api = fake_api(answer)
        writer = StatusWriter(api)

        async def scenario() -> None:
            writer.condition(a_pod(), "Unschedulable", "no room")
            await a_while()
            assert writer.drop("web") is True
            settled = asyncio.ensure_future(writer.settled("web"))
            await a_while()
            assert not settled.done()
            answer.set_result({"metadata": {}})
            await settled

        await while_running(writer, scenario())

    async def test_what_failed_is_not_tried_again(self, fake_api: Any, refusal: Any, while_running: Any) -> None:
        answer = asyncio.get_running_loop().create_future()
        api = fake_api(answer)
        writer = StatusWriter(api)

        async def scenario() -> None:
            writer.condition(a_pod(), "Unschedulable", "old", "n1")
            await a_while()
            writer.drop("web")
            writer.condition(a_pod(), "SchedulerError", "the bind failed")
            answer.set_exception(refusal(503))
            await writer.flush()

        await while_running(writer, scenario())
        assert [message_of(call) for call in api.calls] == ["old", "the bind failed"]
        assert "nominatedNodeName" not in api.calls[1].body["status"]

    async def test_what_is_said_after_it_is_tried_as_often_as_anything(
        self, fake_api: Any, refusal: Any, while_running: Any
    ) -> None:
        answer = asyncio.get_running_loop().create_future()
        api = fake_api(answer, refusal(503))
        writer = StatusWriter(api)

        async def scenario() -> None:
            writer.condition(a_pod(), "Unschedulable", "old")
            await a_while()
            writer.drop("web")
            writer.condition(a_pod(), "SchedulerError", "the bind failed")
            answer.set_exception(refusal(503))
            await writer.flush()

        await while_running(writer, scenario())
        assert [message_of(call) for call in api.calls] == ["old", "the bind failed", "the bind failed"]

    async def test_a_pod_that_was_dropped_and_comes_again_is_still_written_once_at_a_time(
        self, fake_api: Any, while_running: Any
    ) -> None:
        loop = asyncio.get_running_loop()
        other, first = loop.create_future(), loop.create_future()
        api = fake_api(other, first)
        writer = StatusWriter(api, workers=2)

        async def scenario() -> None:
            writer.condition(a_pod("other"), "Unschedulable", "keeps a worker")
            await a_while()
            writer.condition(a_pod(), "Unschedulable", "dropped")
            writer.drop("web")
            writer.condition(a_pod(), "Unschedulable", "first")
            await a_while()
            writer.condition(a_pod(), "Unschedulable", "second")
            other.set_result({"metadata": {}})
            await a_while()
            assert [message_of(call) for call in api.calls] == ["keeps a worker", "first"]
            first.set_result({"metadata": {}})
            await writer.flush()
            assert [message_of(call) for call in api.calls] == ["keeps a worker", "first", "second"]

        await while_running(writer, scenario())


async def test_too_many_wait(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    writer = StatusWriter(api, most_waiting=3)
    for name in "abcde":
        writer.condition(a_pod(name), "Unschedulable", name)
    writer.condition(a_pod("c"), "Unschedulable", "c again")
    await while_running(writer, writer.flush())
    assert [message_of(call) for call in api.calls] == ["c again", "d", "e"]
    assert writer.dropped == 2


# --------------------------------------------------------------------------------------------------------------- model

PODS = ("a", "b")
Step = tuple[Any, ...]
STEPS = st.one_of(
    st.tuples(st.just("condition"), st.sampled_from(PODS), st.integers(0, 2), st.sampled_from([None, "", "n1", "n2"])),
    st.tuples(st.just("nominate"), st.sampled_from(PODS), st.sampled_from(["", "n1", "n2"])),
    st.tuples(st.just("drop"), st.sampled_from(PODS)),
    st.tuples(st.just("watch"), st.sampled_from(PODS)),
    st.tuples(st.just("pass"), st.sampled_from([0.0, 0.005, 0.03, 0.4])),
)
# What becomes of a patch: it works; it fails without effect; it has an effect and no answer comes.
FATES = st.lists(st.sampled_from(["works", "works", "fails", "unreachable", "unheard"]), max_size=20)


class Server:
    """Pods with a status, patches that take time and sometimes fail, and a watch that lags behind."""

    def __init__(self, fates: list[str]) -> None:
        self.fates = fates
        self.version = 1
        self.status: dict[str, dict[str, Any]] = {name: {} for name in PODS}
        self.watched = {name: a_pod(name) for name in PODS}
        self.in_a_row = dict.fromkeys(PODS, 0)
        self.patching: set[str] = set()
        self.forbidden: set[str] = set()

    def watch(self, name: str) -> None:
        self.watched[name] = a_pod(name, self.version, **self.status[name])

    async def patch(self, path: str, body: bytes) -> bytes:
        name = path.split("/")[-2]
        assert name not in self.patching, "two patches of one pod at once"
        assert name not in self.forbidden, "a patch after the pod was dropped"
        self.patching.add(name)
        await asyncio.sleep(0.01)
        self.patching.remove(name)
        fate = self.fates.pop(0) if self.fates and self.in_a_row[name] < 3 else "works"
        self.in_a_row[name] = 0 if fate == "works" else self.in_a_row[name] + 1
        if fate == "unreachable":
            raise Unreachable("down")
        if fate == "fails":
            raise OutcomeUnknown("reset")
        self.apply(name, json.loads(body)["status"])
        if fate == "unheard":
            raise OutcomeUnknown("reset")
        return json.dumps({"metadata": {"resourceVersion": str(self.version)}, "status": self.status[name]}).encode()

    def apply(self, name: str, patch: dict[str, Any]) -> None:
        self.version += 1
        status = self.status[name] = {**self.status[name], **patch}
        if status.get("nominatedNodeName", "") is None:
            del status["nominatedNodeName"]

    async def get(self, path: str) -> bytes:
        raise NotImplementedError

    post = delete = patch


@examples(100)
@given(steps=st.lists(STEPS, max_size=25), fates=FATES)
def test_what_was_said_last_is_what_stays(run_virtually: Any, steps: list[Step], fates: list[str]) -> None:
    run_virtually(lambda: follow(steps, Server(fates)))


async def follow(steps: list[Step], server: Server) -> None:
    writer = StatusWriter(server, newest=lambda pod: server.watched[pod.name], workers=2)
    running = asyncio.ensure_future(writer.run())
    said: dict[str, dict[str, str]] = {name: {} for name in PODS}
    for step in steps:
        await take(step, server, writer, said)
    await writer.flush()
    for name in PODS:
        status = server.status[name]
        found = {
            "message": status.get("conditions", [{}])[0].get("message"),
            "nominate": status.get("nominatedNodeName", ""),
        }
        assert {key: found[key] for key in said[name]} == said[name]
    running.cancel()
    await asyncio.wait([running])


async def take(step: Step, server: Server, writer: StatusWriter, said: dict[str, dict[str, str]]) -> None:
    match step:
        case ("condition", name, number, nominate):
            server.forbidden.discard(name)
            writer.condition(server.watched[name], "Unschedulable", str(number), nominate)
            said[name] |= {"message": str(number)} | ({} if nominate is None else {"nominate": nominate})
        case ("nominate", name, node):
            server.forbidden.discard(name)
            writer.nominate(server.watched[name], node)
            said[name]["nominate"] = node
        case ("drop", name):
            if writer.drop(name):
                await writer.settled(name)
            server.forbidden.add(name)
            said[name] = {}  # it may have been written before, or not
        case ("watch", name):
            server.watch(name)
        case ("pass", seconds):
            await asyncio.sleep(seconds)


@examples(100)
@given(pauses=st.lists(st.sampled_from([0.0, 0.005, 0.02, 0.3]), max_size=15), fates=FATES)
def test_nothing_older_follows_something_newer(run_virtually: Any, pauses: list[float], fates: list[str]) -> None:
    async def follow_numbers() -> list[int]:
        server, seen = Server(fates), []
        apply = server.apply

        def note(name: str, patch: dict[str, Any]) -> None:
            seen.append(int(patch["conditions"][0]["message"]))
            apply(name, patch)

        server.apply = note  # type: ignore[method-assign]
        writer = StatusWriter(server)
        running = asyncio.ensure_future(writer.run())
        for number, pause in enumerate(pauses):
            writer.condition(a_pod("a"), "Unschedulable", str(number))
            await asyncio.sleep(pause)
        await writer.flush()
        running.cancel()
        await asyncio.wait([running])
        return seen

    seen = run_virtually(follow_numbers)
    assert seen == sorted(seen)
    assert seen[-1:] == [len(pauses) - 1][: len(pauses)]
