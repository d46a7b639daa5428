import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.cluster.transport.api_errors import OutcomeUnknown, Unreachable
from pilotage.cluster.write.event_objects import NORMAL, WARNING, CoreV1, EventsV1
from pilotage.cluster.write.event_recorder import EventRecorder
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

EPOCH = 1_700_000_000_000_000_000
PATH = "/apis/events.k8s.io/v1/namespaces/default/events"


def a_pod(name: str = "web", version: int = 1) -> Pod:
    return make_pod(name, uid=name, metadata={"resourceVersion": str(version)})


def virtual_clock() -> int:
    return EPOCH + round(asyncio.get_running_loop().time() * 1e9)


def a_recorder(api: Any, **settings: Any) -> EventRecorder:
    return EventRecorder(api, EventsV1("host"), clock=virtual_clock, **settings)


def fail(recorder: EventRecorder, pod: Pod, note: str = "no room") -> None:
    recorder.record(pod, WARNING, "FailedScheduling", "Scheduling", note, controller="batch")


def place(recorder: EventRecorder, pod: Pod) -> None:
    recorder.record(pod, NORMAL, "Scheduled", "Binding", "Successfully assigned", controller="batch", once=True)


async def a_while() -> None:
    await asyncio.sleep(0.001)


def counts(api: Any) -> list[tuple[str, int]]:
    return [(call.verb, call.body.get("series", {}).get("count", 1)) for call in api.calls]


async def test_an_event_is_created(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    recorder = a_recorder(api)
    fail(recorder, a_pod())
    await while_running(recorder, recorder.flush())
    (call,) = api.calls
    assert (call.verb, call.path) == ("POST", PATH)
    assert call.body["regarding"]["resourceVersion"] == "1"
    assert call.body["reportingInstance"] == "batch-host"
    assert call.body["note"] == "no room"


async def test_events_of_the_older_api(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    recorder = EventRecorder(api, CoreV1(), clock=virtual_clock)

    async def scenario() -> None:
        fail(recorder, a_pod())
        await recorder.flush()
        fail(recorder, a_pod())
        await recorder.flush()

    await while_running(recorder, scenario())
    first, second = api.calls
    assert (first.path, first.body["count"]) == ("/api/v1/namespaces/default/events", 1)
    assert (second.verb, second.path) == ("PATCH", f"{first.path}/{first.body['metadata']['name']}")
    assert second.body["count"] == 2


async def test_a_long_note_is_cut(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    recorder = a_recorder(api)
    fail(recorder, a_pod(), "x" * 100_000)
    await while_running(recorder, recorder.flush())
    assert api.calls[0].body["note"] == "x" * 1020 + " ..."


async def test_events_of_one_moment_have_names_of_their_own(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    recorder = EventRecorder(api, EventsV1("host"), clock=lambda: EPOCH)
    place(recorder, a_pod())
    place(recorder, a_pod())
    await while_running(recorder, recorder.flush())
    assert len({call.body["metadata"]["name"] for call in api.calls}) == 2


class TestSeries:
    async def test_from_the_second_on_they_are_counted_here(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        recorder = a_recorder(api)

        async def scenario() -> None:
            for _ in range(5):
                fail(recorder, a_pod())
                await asyncio.sleep(30)
            assert counts(api) == [("POST", 1), ("PATCH", 2)]
            await asyncio.sleep(7 * 60)  # the series ends
            assert counts(api) == [("POST", 1), ("PATCH", 2), ("PATCH", 5)]
            fail(recorder, a_pod())
            await recorder.flush()

        await while_running(recorder, scenario())
        created, patched, ended, created_again = api.calls
        assert patched.path == ended.path == f"{PATH}/{created.body['metadata']['name']}"
        assert ended.body["series"]["lastObservedTime"] == "2023-11-14T22:15:20.000000Z"
        assert created_again.verb == "POST"

    async def test_the_note_makes_no_difference_but_the_version_does(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        recorder = a_recorder(api)

        async def scenario() -> None:
            for version, note in [(1, "a"), (1, "b"), (2, "b")]:
                fail(recorder, a_pod(version=version), note)
                await recorder.flush()

        await while_running(recorder, scenario())
        assert counts(api) == [("POST", 1), ("PATCH", 2), ("POST", 1)]

    async def test_one_that_goes_on_is_refreshed_every_half_hour(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        recorder = a_recorder(api)

        async def scenario() -> None:
            for _ in range(70):
                fail(recorder, a_pod())
                await asyncio.sleep(60)

        await while_running(recorder, scenario())
        assert counts(api)[:2] == [("POST", 1), ("PATCH", 2)]
        refreshed = api.times[2:]
        assert len(refreshed) == 2
        assert all(1800 <= later - earlier <= 1900 for earlier, later in zip(api.times[1:], refreshed, strict=False))

    async def test_one_that_ends_as_the_server_knows_it_is_not_written(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        recorder = a_recorder(api)

        async def scenario() -> None:
            fail(recorder, a_pod())
            await recorder.flush()
            fail(recorder, a_pod())
            await asyncio.sleep(20 * 60)

        await while_running(recorder, scenario())
        assert counts(api) == [("POST", 1), ("PATCH", 2)]
        assert recorder.remembered == 0

    async def test_seen_twice_before_it_was_sent(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        recorder = a_recorder(api)
        fail(recorder, a_pod())
        fail(recorder, a_pod())
        await while_running(recorder, recorder.flush())
        assert counts(api) == [("POST", 2)]

    async def test_seen_again_while_it_was_sent(self, fake_api: Any, while_running: Any) -> None:
        answer = asyncio.get_running_loop().create_future()
        api = fake_api(answer)
        recorder = a_recorder(api)

        async def scenario() -> None:
            fail(recorder, a_pod())
            await a_while()
            fail(recorder, a_pod())
            await a_while()
            assert counts(api) == [("POST", 1)]
            answer.set_result({})
            await recorder.flush()

        await while_running(recorder, scenario())
        assert counts(api) == [("POST", 1), ("PATCH", 2)]

    async def test_an_event_that_expired_is_created_again(
        self, fake_api: Any, refusal: Any, while_running: Any
    ) -> None:
        api = fake_api({}, refusal(404))
        recorder = a_recorder(api)

        async def scenario() -> None:
            fail(recorder, a_pod())
            await recorder.flush()
            fail(recorder, a_pod())
            await recorder.flush()

        await while_running(recorder, scenario())
        assert counts(api) == [("POST", 1), ("PATCH", 2), ("POST", 2)]
        assert api.calls[0].body["metadata"] == api.calls[2].body["metadata"]


class TestTrouble:
    async def test_that_passes(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api(*(Unreachable("down") if number % 2 else OutcomeUnknown("reset") for number in range(11)))
        recorder = a_recorder(api)
        fail(recorder, a_pod())
        await while_running(recorder, recorder.flush())
        assert len(api.calls) == 12
        assert all(10 <= b - a <= 12.501 for a, b in zip(api.times, api.times[1:], strict=False))
        assert not recorder.rejected

    async def test_that_stays(self, fake_api: Any, while_running: Any, caplog: pytest.LogCaptureFixture) -> None:
        api = fake_api(*(Unreachable("down") for _ in range(99)))
        recorder = a_recorder(api)
        fail(recorder, a_pod())
        await while_running(recorder, recorder.flush())
        assert len(api.calls) == 12
        assert recorder.rejected == Counter({0: 1})
        assert "event FailedScheduling on default/web was not written: down (1 times so far)" in caplog.text

    @pytest.mark.parametrize("status", [400, 403, 404, 422, 500])
    async def test_with_the_event_itself(self, fake_api: Any, refusal: Any, while_running: Any, status: int) -> None:
        api = fake_api(refusal(status))
        recorder = a_recorder(api)
        fail(recorder, a_pod())
        await while_running(recorder, recorder.flush())
        assert len(api.calls) == 1
        assert recorder.rejected == Counter({status: 1})
        assert recorder.remembered == 0

    async def test_a_rejected_repetition_is_not_tried_for_ever(
        self, fake_api: Any, refusal: Any, while_running: Any
    ) -> None:
        api = fake_api({}, refusal(403))
        recorder = a_recorder(api)

        async def scenario() -> None:
            fail(recorder, a_pod())
            await recorder.flush()
            fail(recorder, a_pod())
            await recorder.flush()

        await while_running(recorder, scenario())
        assert counts(api) == [("POST", 1), ("PATCH", 2)]

    async def test_an_event_that_is_neither_there_nor_not_is_not_tried_for_ever(
        self, fake_api: Any, refusal: Any, while_running: Any
    ) -> None:
        api = fake_api({}, *[refusal(404), refusal(409)] * 5)
        recorder = a_recorder(api)

        async def scenario() -> None:
            fail(recorder, a_pod())
            await recorder.flush()
            fail(recorder, a_pod())
            await recorder.flush()

        await while_running(recorder, scenario())
        assert counts(api) == [("POST", 1), ("PATCH", 2), ("POST", 2)]

    async def test_an_answer_that_was_lost(self, fake_api: Any, refusal: Any, while_running: Any) -> None:
        api = fake_api(OutcomeUnknown("reset"), refusal(409, "already exists"))
        recorder = a_recorder(api)
        fail(recorder, a_pod())
        await while_running(recorder, recorder.flush())
        assert counts(api) == [("POST", 1), ("POST", 1)]
        assert not recorder.rejected

    async def test_an_answer_that_was_lost_and_a_repetition(
        self, fake_api: Any, refusal: Any, while_running: Any
    ) -> None:
        api = fake_api(OutcomeUnknown("reset"), refusal(409, "already exists"))
        recorder = a_recorder(api)

        async def scenario() -> None:
            fail(recorder, a_pod())
            await a_while()
            fail(recorder, a_pod())
            await recorder.flush()

        await while_running(recorder, scenario())
        assert counts(api) == [("POST", 1), ("POST", 2), ("PATCH", 2)]

    async def test_a_server_that_asks_for_patience(self, fake_api: Any, refusal: Any, while_running: Any) -> None:
        api = fake_api(*(refusal(429, "slow down", 1.0) for _ in range(3)), refusal(503))
        recorder = a_recorder(api)
        fail(recorder, a_pod())
        await while_running(recorder, recorder.flush())
        pauses = [b - a for a, b in zip(api.times, api.times[1:], strict=False)]
        assert pauses[:3] == pytest.approx([1, 2, 3])
        assert 10 <= pauses[3] <= 12.501
        assert not recorder.rejected

    async def test_of_our_own_stops_one_event_only(
        self, fake_api: Any, while_running: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        api = fake_api(ZeroDivisionError("bug"))
        recorder = a_recorder(api, workers=1)
        fail(recorder, a_pod("a"))
        fail(recorder, a_pod("b"))
        await while_running(recorder, recorder.flush())
        assert len(api.calls) == 2
        assert "an event was not sent" in caplog.text

    async def test_a_flood_of_rejections_is_no_flood_of_lines(
        self, fake_api: Any, refusal: Any, while_running: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        api = fake_api(*(refusal(403, "may not") for _ in range(100)))
        recorder = a_recorder(api)
        for number in range(100):
            fail(recorder, a_pod(f"pod-{number}"))
        await while_running(recorder, recorder.flush())
        assert recorder.rejected == Counter({403: 100})
        assert caplog.text.count("may not") == 7


class TestStandingBack:
    async def test_events_wait_for_binds(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        loop = asyncio.get_running_loop()
        recorder = a_recorder(api, busy=lambda: loop.time() < 1.0)
        for number in range(100):
            place(recorder, a_pod(f"pod-{number}"))
        await while_running(recorder, recorder.flush())
        assert len(api.calls) == 100
        assert 1.0 <= api.times[0] <= api.times[-1] <= 1.01

    async def test_but_not_for_ever(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api(*(lambda call: asyncio.sleep(0.01, {}) for _ in range(20)))
        recorder = a_recorder(api, busy=lambda: True, longest_hold=3.0)
        for number in range(20):
            place(recorder, a_pod(f"pod-{number}"))
        await while_running(recorder, recorder.flush())
        assert 3.0 <= api.times[0] <= 3.01
        pauses = [b - a for a, b in zip(api.times, api.times[1:], strict=False)]
        assert min(pauses) >= 0.009  # one at a time, so that binds have the server almost to themselves

    async def test_without_binds_many_go_at_once(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api(*(lambda call: asyncio.sleep(1, {}) for _ in range(20)))
        recorder = a_recorder(api, workers=4)
        for number in range(20):
            place(recorder, a_pod(f"pod-{number}"))
        await while_running(recorder, recorder.flush())
        assert Counter(round(time) for time in api.times) == {0: 4, 1: 4, 2: 4, 3: 4, 4: 4}


class TestManyEvents:
    async def test_nothing_of_a_burst_is_lost(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        recorder = a_recorder(api)
        pod = a_pod()
        for _ in range(10_000):
            place(recorder, pod)
        assert recorder.waiting == 10_000
        await while_running(recorder, recorder.flush())
        assert len({call.body["metadata"]["name"] for call in api.calls}) == 10_000
        assert (recorder.waiting, recorder.dropped) == (0, 0)
        assert recorder.remembered == 0

    async def test_the_oldest_repetition_is_given_up_first(self, fake_api: Any, while_running: Any) -> None:
        calm = {"busy": False}
        api = fake_api()
        recorder = a_recorder(api, busy=lambda: calm["busy"], workers=1, most_waiting=3, longest_hold=1e6)

        async def scenario() -> None:
            for name in "ab":
                fail(recorder, a_pod(name))
            await recorder.flush()
            calm["busy"] = True
            fail(recorder, a_pod("held"))  # the only worker has it in its hand
            await a_while()
            for name in "abcdef":
                fail(recorder, a_pod(name))
            assert recorder.dropped == 3
            calm["busy"] = False
            await recorder.flush()

        await while_running(recorder, scenario())
        names = [(call.verb, call.path.rpartition("/")[2][0]) for call in api.calls if call.verb == "PATCH"]
        created = [call.body["regarding"]["name"] for call in api.calls if call.verb == "POST"]
        assert names == []
        assert created == ["a", "b", "held", "d", "e", "f"]

    async def test_an_event_that_was_given_up_can_happen_again(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api()
        recorder = a_recorder(api, most_waiting=1)
        for name in "ab":
            fail(recorder, a_pod(name))

        async def scenario() -> None:
            await recorder.flush()
            fail(recorder, a_pod("a"))
            await recorder.flush()

        await while_running(recorder, scenario())
        assert [call.body["regarding"]["name"] for call in api.calls] == ["b", "a"]
        assert recorder.dropped == 1


class TestDrain:
    async def test_the_last_counts_are_written(self, fake_api: Any, while_running: Any) -> None:
        binds = {"under way": False}
        api = fake_api()
        recorder = a_recorder(api, busy=lambda: binds["under way"], longest_hold=1e6)

        async def scenario() -> int:
            for _ in range(2):
                fail(recorder, a_pod())
            await recorder.flush()
            binds["under way"] = True
            fail(recorder, a_pod())
            place(recorder, a_pod())
            return await recorder.drain(5)

        assert await while_running(recorder, scenario()) == 0
        assert counts(api) == [("POST", 2), ("POST", 1), ("PATCH", 3)]

    async def test_it_ends_in_time(self, fake_api: Any, while_running: Any) -> None:
        api = fake_api(*(Unreachable("down") for _ in range(99)))
        recorder = a_recorder(api, workers=1)
        for name in "abc":
            fail(recorder, a_pod(name))
        assert await while_running(recorder, recorder.drain(5)) == 3
        assert asyncio.get_running_loop().time() == pytest.approx(5, abs=0.01)


# --------------------------------------------------------------------------------------------------------------- model

Sighting = tuple[str, float]
FATES = st.lists(st.sampled_from(["works", "works", "unreachable", "unheard"]), max_size=12)


class Server:
    """Events by name, as a server that checks them strictly keeps them."""

    def __init__(self, fates: list[str]) -> None:
        self.fates = fates
        self.events: dict[str, tuple[str, int]] = {}

    def answer(self, call: Any, refusal: Any) -> Any:
        fate = self.fates.pop(0) if self.fates else "works"
        if fate == "unreachable":
            return Unreachable("down")
        count = call.body.get("series", {}).get("count", 1)
        name = call.path.rpartition("/")[2] if call.verb == "PATCH" else call.body["metadata"]["name"]
        if (call.verb == "PATCH") != (name in self.events):
            return refusal(404 if call.verb == "PATCH" else 409)
        assert call.verb == "POST" or count >= 2
        regarding = self.events[name][0] if call.verb == "PATCH" else call.body["regarding"]["name"]
        self.events[name] = regarding, count
        return {} if fate == "works" else OutcomeUnknown("reset")


@examples(60)
@given(
    sightings=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 1.0, 50.0, 500.0])), max_size=20),
    fates=FATES,
)
def test_in_the_end_every_sighting_is_counted(
    run_virtually: Any, fake_api: Any, refusal: Any, while_running: Any, sightings: list[Sighting], fates: list[str]
) -> None:
    async def follow() -> None:
        server = Server(fates)
        api = fake_api(*[lambda call: server.answer(call, refusal)] * 200)
        recorder = a_recorder(api, workers=2)

        async def scenario() -> None:
            for name, pause in sightings:
                fail(recorder, a_pod(name))
                await asyncio.sleep(pause)
            assert await recorder.drain(1000) == 0

        await while_running(recorder, scenario())
        known: Counter[str] = Counter()
        for name, count in server.events.values():
            known[name] += count
        assert known == Counter(name for name, _ in sightings)
        assert not recorder.rejected

    run_virtually(follow)
