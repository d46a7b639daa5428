import asyncio
import itertools
import selectors
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.cluster.election.leader_election import Candidate, log
from pilotage.cluster.election.lease_settings import LeaseSettings
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable

pytestmark = pytest.mark.looptime(noop_cycles=0)

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/pilotage"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def refusal(status: int) -> ApiError:
    return ApiError(status, reason="", message="no", retry_after=None, body=b"")


class Server:
    """An API server that holds one Lease and, as the real one, takes a write that changes nothing for no write."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.nonsense: bytes | None = None
        self.writes: list[tuple[float, dict[str, Any]]] = []

    @property
    def stored(self) -> dict[str, Any]:
        assert self.lease is not None
        return self.lease

    @property
    def holder(self) -> str:
        return str(self.stored["spec"]["holderIdentity"])

    def answer(self, verb: str, path: str, body: bytes) -> bytes:
        if self.nonsense is not None:
            return self.nonsense
        if verb == "POST":
            assert path == PATH.rpartition("/")[0]
            if self.lease is not None:
                raise refusal(409)
            self.store(msgspec.json.decode(body))
        else:
            assert path == PATH
            if self.lease is None:
                raise refusal(404)
            if verb == "PUT":
                self.replace(msgspec.json.decode(body), self.lease)
        return msgspec.json.encode(self.lease)

    def replace(self, document: dict[str, Any], old: dict[str, Any]) -> None:
        if document["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
            raise refusal(409)
        if document != old:
            self.store(document)

    def store(self, document: dict[str, Any]) -> None:
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        self.lease = document
        self.writes.append((asyncio.get_running_loop().time(), document["spec"]))


@dataclass(frozen=True)
class Fate:
    """What becomes of one request; one that takes longer than its timeout takes effect all the same."""

    kind: str = "answered"  # or: refused (never sent), broken (500), unanswered
    there: float = 0.0
    back: float = 0.0


class Wire:
    """One candidate's way to the server."""

    def __init__(self, server: Server, fates: Iterator[Fate] | None = None) -> None:
        self.server = server
        self.fates = fates or itertools.repeat(Fate())
        self.requests: list[tuple[float, str]] = []
        self.gate: Callable[[], Awaitable[None]] = self.open
        self.is_up = True

    async def open(self) -> None:
        await asyncio.sleep(0)

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self.send("GET", path, b"", timeout)

    async def post(self, path: str, body: bytes, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self.send("POST", path, body, timeout)

    async def put(self, path: str, body: bytes, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self.send("PUT", path, body, timeout)

    async def close(self) -> None:
        pass

    async def send(self, verb: str, path: str, body: bytes, seconds: float | None) -> bytes:
        await self.gate()
        loop, fate = asyncio.get_running_loop(), next(self.fates)
        self.requests.append((loop.time(), verb))
        if not self.is_up or fate.kind == "refused":
            raise Unreachable
        if fate.kind == "broken":
            raise refusal(500)
        answer: asyncio.Future[bytes] = loop.create_future()
        back = inf if fate.kind == "unanswered" else fate.back
        home = copy_context()

        def deliver(value: bytes | ApiError) -> None:
            if back < inf:
                loop.call_later(back, settle, answer, value, context=home)

        loop.call_later(fate.there, self.arrive, verb, path, body, deliver, context=Context())
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError as error:
            raise OutcomeUnknown from error
        finally:
            await self.gate()

    def arrive(self, verb: str, path: str, body: bytes, deliver: Callable[[bytes | ApiError], object]) -> None:
        try:
            answer: bytes | ApiError = self.server.answer(verb, path, body)
        except ApiError as error:
            answer = error
        deliver(answer)


def settle(answer: asyncio.Future[bytes], value: bytes | ApiError) -> None:
    if answer.done():
        return
    if isinstance(value, ApiError):
        answer.set_exception(value)
    else:
        answer.set_result(value)


def options(identity: str, **times: float) -> LeaseSettings:
    return LeaseSettings(namespace="ns", name="pilotage", identity=identity, **times)


def candidate(wire: Wire, identity: str, *, chance: float = 0.5, offset: float = 0.0, **more: Any) -> Candidate:
    loop = asyncio.get_running_loop()
    more = {"wall_clock": lambda: EPOCH + timedelta(seconds=loop.time())} | more
    times = {key: more.pop(key) for key in ("lease_duration", "renew_deadline", "retry_period") if key in more}
    return Candidate(
        options(identity, **times), wire, clock=lambda: loop.time() + offset, chance=lambda: chance, **more
    )


async def campaign(one: Candidate) -> str:
    await one.acquire()
    return await one.keep()


class Election:
    """Some candidates and their tasks, ended with the test."""

    def __init__(self) -> None:
        self.server = Server()
        self.tasks: dict[str, asyncio.Task[str]] = {}
        self.wires: dict[str, Wire] = {}

    async def __aenter__(self) -> "Election":
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    def enter(self, identity: str, **more: Any) -> Candidate:
        wire = self.wires[identity] = Wire(self.server, more.pop("fates", None))
        one = candidate(wire, identity, **more)
        self.tasks[identity] = asyncio.create_task(campaign(one))
        return one

    async def crash(self, identity: str) -> None:
        self.tasks[identity].cancel()
        await asyncio.wait({self.tasks[identity]})


def now() -> float:
    return asyncio.get_running_loop().time()


async def until(fact: Callable[[], bool], seconds: float = 100.0, step: float = 0.05) -> float:
    """Wait for a fact and return the seconds that it took."""
    begin = now()
    while not fact():
        assert now() - begin < seconds, "it never came true"
        await asyncio.sleep(step)
    return now() - begin


# --------------------------------------------------------------------------------------------------------- acquiring


async def test_a_missing_lease_is_created() -> None:
    async with Election() as election:
        one = election.enter("one")
        await until(one.may_act)
        assert election.server.lease == {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "pilotage", "namespace": "ns", "resourceVersion": "1"},
            "spec": {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-01T00:00:00.000000Z",
                "renewTime": "2026-01-01T00:00:00.000000Z",
                "leaseTransitions": 0,
            },
        }


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 2.0), (0.5, 3.2), (1.0, 4.4)])
async def test_a_candidate_tries_again_after_a_period_with_jitter(chance: float, wait: float) -> None:
    async with Election() as election:
        election.enter("one")
        await asyncio.sleep(0.5)
        election.enter("two", chance=chance)
        await asyncio.sleep(10)
        times = [when for when, _ in election.wires["two"].requests]
        assert [b - a for a, b in itertools.pairwise(times)] == [pytest.approx(wait)] * (len(times) - 1)
        assert len(times) > 2


async def test_only_one_of_three_that_start_at_once_leads() -> None:
    async with Election() as election:
        three = [election.enter(name) for name in ("one", "two", "three")]
        await asyncio.sleep(1)
        assert [one.may_act() for one in three].count(True) == 1
        assert {one.leader for one in three} <= {election.server.holder, ""}


async def test_after_a_crash_the_lease_is_taken_when_it_ran_out_and_not_before() -> None:
    async with Election() as election:
        one = election.enter("one")
        await asyncio.sleep(0.3)
        two, three = election.enter("two", chance=0.0), election.enter("three", chance=1.0)
        await asyncio.sleep(20)
        assert one.may_act()
        await election.crash("one")
        last_renewal = election.server.writes[-1][0]
        await until(lambda: two.may_act() or three.may_act())
        seen_by_two = next(when for when, _ in election.wires["two"].requests if when >= last_renewal)
        assert seen_by_two + 15 <= now() <= seen_by_two + 15 + 2.1
        assert two.may_act()
        assert not three.may_act()
        assert election.server.writes[-1][1]["leaseTransitions"] == 1


async def test_the_duration_in_the_record_counts_and_not_our_own() -> None:
    async with Election() as election:
        one = election.enter("one", lease_duration=40.0)
        await until(one.may_act)
        two = election.enter("two")
        await asyncio.sleep(5)
        await election.crash("one")
        assert 38 <= await until(two.may_act) <= 46


async def test_a_released_lease_is_taken_in_the_next_round() -> None:
    async with Election() as election:
        one, two = election.enter("one"), election.enter("two", chance=0.0)
        await asyncio.sleep(7)
        assert one.may_act()
        await election.crash("one")
        assert await one.release()
        assert election.server.writes[-1][1] == {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": "2026-01-01T00:00:07.000000Z",
            "renewTime": "2026-01-01T00:00:07.000000Z",
            "leaseTransitions": 0,
        }
        assert await until(two.may_act) <= 2.1
        assert election.server.writes[-1][1]["leaseTransitions"] == 1


async def test_the_lease_of_another_is_not_released() -> None:
    async with Election() as election:
        one = election.enter("one")
        await until(one.may_act)
        before = election.server.lease
        assert await candidate(Wire(election.server), "two").release()
        assert election.server.lease == before


async def test_a_release_that_meets_our_own_last_renewal_is_repeated() -> None:
    async with Election() as election:
        one = election.enter(
            "one", fates=iter([*[Fate()] * 2, Fate(there=1.0), Fate(), Fate(there=2.0), *[Fate()] * 9])
        )
        await asyncio.sleep(2.5)  # the renewal of second 2 is on its way when its task ends
        await election.crash("one")
        assert await one.release()
        assert election.server.holder == ""


async def test_a_claim_whose_answer_was_lost_is_taken_up_in_the_next_round() -> None:
    async with Election() as election:
        one = election.enter("one", fates=itertools.chain([Fate(), Fate("unanswered")], itertools.repeat(Fate())))
        assert 5 <= await until(one.may_act) <= 10
        assert election.server.stored["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"
        assert election.server.stored["spec"]["leaseTransitions"] == 0


async def test_an_answer_that_comes_too_late_gives_no_right_to_act() -> None:
    async with Election() as election:
        one = election.enter("one")
        wire = election.wires["one"]
        stops = iter([0.0, 0.0, 0.0, 40.0])  # the process stands still with the answer to its claim in its socket

        async def stand_still() -> None:
            await asyncio.sleep(next(stops, 0.0))

        wire.gate = stand_still
        await asyncio.sleep(39)
        assert election.server.holder == "one"
        await asyncio.sleep(2)
        assert not one.is_leader
        await until(one.may_act)
        assert [verb for _, verb in wire.requests[:4]] == ["GET", "POST", "GET", "PUT"]


@pytest.mark.parametrize(
    ("spec", "longest"),
    [
        pytest.param(None, 0.1, id="no spec is free"),
        pytest.param([], 0.1, id="a spec that is a list is free"),
        pytest.param({}, 0.1, id="an empty spec is free"),
        pytest.param({"holderIdentity": None}, 0.1, id="no holder is free"),
        pytest.param({"holderIdentity": ""}, 0.1, id="an empty holder is free"),
        pytest.param({"holderIdentity": "x"}, 20, id="a holder without a duration is respected for ours"),
        pytest.param({"holderIdentity": "x", "leaseDurationSeconds": -5}, 20, id="a negative duration counts as none"),
        pytest.param({"holderIdentity": "x", "leaseDurationSeconds": 0}, 20, id="a duration of zero counts as none"),
        pytest.param({"holderIdentity": "x", "leaseDurationSeconds": "9"}, 20, id="a duration in words counts as none"),
        pytest.param({"holderIdentity": "x", "leaseDurationSeconds": 5}, 9, id="a shorter duration counts"),
        pytest.param({"holderIdentity": 7, "leaseTransitions": "z"}, 20, id="a holder that is a number is respected"),
        pytest.param(
            {"holderIdentity": "\u202e{}%s\n" * 9999, "leaseTransitions": -7, "renewTime": "never"}, 20, id="garbage"
        ),
        pytest.param({"leaseTransitions": 2**31 - 1}, 0.1, id="transitions stay within 32 bits"),
    ],
)
async def test_whatever_a_lease_holds_it_is_taken_in_the_end(spec: Any, longest: float) -> None:
    async with Election() as election:
        election.server.store({"metadata": {}, "spec": spec})
        one = election.enter("one", chance=0.5)
        took = await until(one.may_act)
        assert took <= longest
        assert took >= 15 or longest < 20
        assert 0 < election.server.stored["spec"]["leaseTransitions"] < 2**31


async def test_what_we_do_not_know_in_a_lease_stays() -> None:
    async with Election() as election:
        metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "uid": "u", "managedFields": [{"manager": "m"}]}
        election.server.store({"kind": "Lease", "metadata": metadata, "spec": {"strategy": "S"}, "more": [1]})
        one = election.enter("one")
        await asyncio.sleep(5)
        assert one.may_act()
        lease = election.server.stored
        assert lease["metadata"].pop("resourceVersion")
        assert lease["metadata"] == {"labels": {"a": "b"}, "annotations": {"c": "d"}, "uid": "u"}
        assert lease["spec"]["strategy"] == "S"
        assert (lease["kind"], lease["more"]) == ("Lease", [1])


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"metadata":{}}', b"null", b"\xff\xfe", b"[" * 100_000])
async def test_an_answer_that_is_no_lease_is_a_failed_try(body: bytes) -> None:
    async with Election() as election:
        election.server.nonsense = body
        one = election.enter("one")
        await asyncio.sleep(10)
        assert not one.is_leader
        election.server.nonsense = None
        await until(one.may_act)


# ----------------------------------------------------------------------------------------------------------- keeping


async def test_a_leader_renews_every_period_with_one_request() -> None:
    async with Election() as election:
        one = election.enter("one")
        await asyncio.sleep(9)
        assert [verb for _, verb in election.wires["one"].requests] == ["GET", "POST", "PUT", "PUT", "PUT", "PUT"]
        assert [when for when, _ in election.server.writes] == pytest.approx([0, 2, 4, 6, 8])
        assert {spec["acquireTime"] for _, spec in election.server.writes} == {"2026-01-01T00:00:00.000000Z"}
        assert election.server.writes[-1][1]["renewTime"] == "2026-01-01T00:00:08.000000Z"
        assert one.slow_paths == 0


@pytest.mark.parametrize("begin", [0.1, 0.5, 0.9])
async def test_a_server_that_is_away_for_nine_seconds_does_not_cost_the_lease(begin: float) -> None:
    async with Election() as election:
        one = election.enter("one")
        await asyncio.sleep(4 + begin)
        election.wires["one"].is_up = False
        await asyncio.sleep(9)
        election.wires["one"].is_up = True
        await asyncio.sleep(30)
        assert one.may_act()
        assert not election.tasks["one"].done()


async def test_a_server_that_is_away_for_eleven_seconds_costs_the_lease_exactly_at_the_deadline() -> None:
    async with Election() as election:
        one, two = election.enter("one"), election.enter("two", offset=1e6)
        await asyncio.sleep(5)
        election.wires["one"].is_up = False
        task = election.tasks["one"]
        assert await task == "the Lease was not renewed within 10 s: Unreachable"
        assert now() == pytest.approx(4 + 10)
        assert not one.may_act()
        assert not one.is_leader
        assert not two.may_act()
        election.wires["one"].is_up = True
        await until(two.may_act)
        assert now() >= 4 + 15
        assert not one.may_act()


async def test_the_right_to_act_ends_at_the_deadline_even_if_nobody_is_there_to_notice() -> None:
    async with Election() as election:
        moment = 100.0
        one = candidate(Wire(election.server), "one")
        one._clock = lambda: moment
        await one.acquire()
        assert one.may_act()
        moment = 110 - 1e-6
        assert one.may_act()
        moment = 110.0
        assert not one.may_act()
        assert "not renewed" in await one.keep()


async def test_the_right_to_act_counts_from_when_a_renewal_was_sent() -> None:
    async with Election() as election:
        one = election.enter("one", fates=itertools.repeat(Fate(there=2.0, back=2.0)))
        await until(one.may_act)
        assert now() == pytest.approx(8, abs=0.1)
        election.wires["one"].is_up = False
        assert await until(lambda: not one.may_act()) == pytest.approx(4 + 10 - 8, abs=0.1)


async def test_a_leader_that_sees_another_holder_is_over_at_once() -> None:
    async with Election() as election:
        one = election.enter("one")
        await asyncio.sleep(5)
        election.server.store({"metadata": {}, "spec": {"holderIdentity": "intruder"}})
        assert await election.tasks["one"] == "the Lease is held by intruder"
        assert now() == pytest.approx(6)
        assert not one.may_act()
        assert one.slow_paths == 1


async def test_a_leader_whose_lease_was_freed_by_somebody_else_is_over() -> None:
    async with Election() as election:
        one = election.enter("one")
        await asyncio.sleep(5)
        election.server.store({"metadata": {}, "spec": {"holderIdentity": ""}})
        assert await election.tasks["one"] == "the Lease has no holder"
        assert not one.may_act()


async def test_the_right_to_act_ends_before_the_lease_is_freed() -> None:
    wire = Wire(Server())
    one = candidate(wire, "one")
    await one.acquire()
    wire.fates = itertools.repeat(Fate(there=1.0))
    release = asyncio.create_task(one.release())
    await asyncio.sleep(1.5)
    assert wire.server.holder == "one"
    assert not one.may_act()
    assert await release
    assert wire.server.holder == ""


async def test_a_change_by_somebody_else_costs_one_slow_renewal() -> None:
    async with Election() as election:
        one = election.enter("one")
        await asyncio.sleep(5)
        election.server.store(election.server.stored | {"labels": {"a": "b"}})
        await asyncio.sleep(20)
        assert one.may_act()
        assert one.slow_paths == 1
        assert election.server.stored["labels"] == {"a": "b"}
        assert {spec["acquireTime"] for _, spec in election.server.writes} == {"2026-01-01T00:00:00.000000Z"}


async def test_a_deleted_lease_is_made_again_by_its_holder_and_by_nobody_else() -> None:
    async with Election() as election:
        one, two = election.enter("one"), election.enter("two", chance=0.0)
        await asyncio.sleep(6.5)
        for _ in range(20):
            election.server.lease = None
            await asyncio.sleep(3)
            assert one.may_act()
            assert not two.may_act()


async def test_a_deleted_lease_whose_holder_is_gone_is_made_again_after_its_duration() -> None:
    async with Election() as election:
        one, two = election.enter("one"), election.enter("two")
        await asyncio.sleep(6.5)
        await election.crash("one")
        election.server.lease = None
        assert 10 <= await until(two.may_act) <= 20
        assert not one.may_act()


async def test_steps_of_the_wall_clock_have_no_effect() -> None:
    steps = itertools.cycle([timedelta(0), timedelta(days=-400), timedelta(days=9000), timedelta(seconds=-1)])
    async with Election() as election:
        one = election.enter("one", wall_clock=lambda: EPOCH + next(steps))
        two = election.enter("two", wall_clock=lambda: EPOCH + next(steps))
        for _ in range(100):
            await asyncio.sleep(1)
            assert one.may_act()
            assert not two.may_act()


async def test_a_wall_clock_that_stands_still_does_not_look_like_a_dead_leader() -> None:
    async with Election() as election:
        one = election.enter("one", wall_clock=lambda: EPOCH)
        two = election.enter("two")
        await asyncio.sleep(60)
        assert one.may_act()
        assert not two.may_act()
        assert len({spec["renewTime"] for _, spec in election.server.writes}) == len(election.server.writes) > 20


async def test_every_new_leader_is_announced_once() -> None:
    heard: list[str] = []
    async with Election() as election:
        one = election.enter("one")
        await until(one.may_act)
        two = election.enter("two", on_new_leader=heard.append)
        await asyncio.sleep(10)
        assert heard == ["one"]
        await election.crash("one")
        await one.release()
        await until(two.may_act)
        assert heard == ["one", "two"]


# ------------------------------------------------------------------------------------------------- two at a time: never

QUIET = 40.0  # from this second on nothing goes wrong any more, except that some may still stand still

delays = st.sampled_from([0.0, 0.0, 0.01, 0.3, 2.0, 4.5, 12.0])
kinds = st.sampled_from([*["answered"] * 6, "refused", "broken", "unanswered"])
fates = st.builds(Fate, kinds, delays, delays)


def seconds(least: int, most: int) -> st.SearchStrategy[float]:
    return st.integers(least * 10, most * 10).map(lambda tenths: tenths / 10)


@dataclass(frozen=True)
class Process:
    """How one replica fares: its clock, its network, when it stands still, and how it ends."""

    start: float
    offset: float
    is_slow: bool
    chance: float
    fates: list[Fate]
    outages: list[tuple[float, float, str]]
    stops: list[tuple[float, float]]
    ends: list[tuple[float, bool]]  # after how long, and whether it releases the Lease


clocks = {
    "offset": st.integers(-1_000_000, 1_000_000),
    "is_slow": st.booleans(),
    "chance": st.sampled_from([0.0, 0.3, 0.99]),
}
never: st.SearchStrategy[list[Any]] = st.just([])
watchful = st.builds(
    Process, start=st.sampled_from([0.5, 5.0, 7.0]), fates=never, outages=never, stops=never, ends=never, **clocks
)
troubled = st.builds(
    Process,
    start=st.sampled_from([0.0, 0.0, 7.0]),
    fates=st.lists(fates, max_size=5),
    outages=st.lists(st.tuples(seconds(4, 25), seconds(8, 25), st.sampled_from(["refused", "unanswered"])), max_size=2),
    stops=st.lists(st.tuples(seconds(4, 30), seconds(1, 40)), max_size=2),
    ends=st.lists(st.tuples(seconds(5, 30), st.booleans()), max_size=1),
    **clocks,
)
# One that misses no chance to lead makes every mistake of the others count.
replicas = st.tuples(troubled, watchful) | st.tuples(troubled, watchful, troubled)

running: ContextVar[Process | None] = ContextVar("running", default=None)


class Jump(selectors.SelectSelector):
    """Nothing comes from outside, so that waiting is jumping to the next timer."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += max(timeout or 0.0, 0.0)
        return []


class StoppableLoop(asyncio.SelectorEventLoop):
    """Virtual time in which no timer of a process fires while that process stands still."""

    def __init__(self) -> None:
        self.jump = Jump()
        super().__init__(self.jump)

    def time(self) -> float:
        return self.jump.now

    def call_at(  # type: ignore[override] # Python 3.11 spells no variadic callback
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        process = running.get() if context is None else context.get(running)
        for begin, length in sorted(process.stops) if process else ():
            if begin <= when < begin + length:
                when = begin + length
        return super().call_at(when, callback, *args, context=context)


class FlakyWire(Wire):
    """A way to the server with outages."""

    def __init__(self, server: Server, process: Process) -> None:
        super().__init__(server, self.fortunes(process))

    @staticmethod
    def fortunes(process: Process) -> Iterator[Fate]:
        for fate in itertools.cycle(process.fates or [Fate()]):
            out = (Fate(kind) for begin, length, kind in process.outages if begin <= now() < begin + length)
            yield next(out, fate) if now() < QUIET else Fate()


class Cluster:
    """Replicas that come and go, and a look at who may act whenever anything happens."""

    def __init__(self, lease_duration: float, drift: float) -> None:
        self.server = Server()
        self.lease_duration, self.drift = lease_duration, drift
        self.living: dict[str, Candidate] = {}
        self.was_acting: set[str] = set()
        self.resigned: set[str] = set()
        self.leader_in_the_end: set[str] = set()
        self.violations: list[str] = []
        self.names = map(str, itertools.count())

    def acting(self) -> set[str]:
        return {name for name, one in self.living.items() if one.may_act()}

    def look(self) -> None:
        acting = self.acting()
        if len(acting) > 1:
            self.violations.append(f"{sorted(acting)} acted at {now()}")
        if acting & self.resigned:
            self.violations.append(f"{acting & self.resigned} came back at {now()}")
        self.resigned |= self.was_acting - acting
        self.was_acting |= acting

    def look_soon(self) -> None:
        asyncio.get_running_loop().call_soon(self.look)

    async def look_around(self) -> None:
        """Look also when a request begins or ends: what it brings about comes right after it."""
        self.look()
        self.look_soon()
        await asyncio.sleep(0)

    async def replicate(self, process: Process) -> None:
        running.set(process)
        await asyncio.sleep(process.start)
        ends = iter(process.ends)
        while True:
            await self.live(process, next(ends, None) if now() < QUIET else None)
            await asyncio.sleep(1)

    async def live(self, process: Process, end: tuple[float, bool] | None) -> None:
        loop, name, wire = asyncio.get_running_loop(), next(self.names), FlakyWire(self.server, process)
        wire.gate = self.look_around
        rate = 1 - self.drift if process.is_slow else 1 + self.drift
        one = self.living[name] = Candidate(
            options(name, lease_duration=self.lease_duration),
            wire,
            clock=lambda: loop.time() * rate + process.offset,
            chance=lambda: process.chance,
            on_new_leader=lambda _: self.look_soon(),
        )
        try:
            async with asyncio.timeout(end and end[0]):
                await campaign(one)
        except TimeoutError:
            if end and end[1]:
                await one.release()
        finally:
            self.look()
            del self.living[name]


async def history(cluster: Cluster, fortunes: Iterable[Process]) -> None:
    tasks = [asyncio.create_task(cluster.replicate(process)) for process in fortunes]
    await asyncio.wait(tasks, timeout=QUIET + 15)
    await until(lambda: bool(cluster.acting()), seconds=55, step=1)
    cluster.look()
    cluster.leader_in_the_end = cluster.was_acting - cluster.resigned
    failed = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not failed, failed


def play(cluster: Cluster, fortunes: Iterable[Process]) -> None:
    log.disabled = True
    try:
        with asyncio.Runner(loop_factory=StoppableLoop) as runner:
            runner.run(history(cluster, fortunes))
    finally:
        log.disabled = False


@examples(300)
@given(
    replicas,
    st.sampled_from([(15.0, 0.15), (10.2, 0.0)]),  # clocks that differ in speed need the longer lease
)
def test_never_may_two_act_at_once_and_in_the_end_one_does(
    fortunes: Iterable[Process], margins: tuple[float, float]
) -> None:
    cluster = Cluster(*margins)
    play(cluster, fortunes)
    assert cluster.violations == []
    assert len(cluster.leader_in_the_end) == 1


@pytest.mark.parametrize("back", [0.0, 2.0, 4.5])
@pytest.mark.parametrize(
    "length", [3.0, 25.0, None], ids=["it stands still", "it stands still for long", "it is cut off"]
)
def test_never_may_two_act_at_once_whenever_trouble_begins(back: float, length: float | None) -> None:
    watchful = Process(5.0, 0, False, 0.0, fates=[], outages=[], stops=[], ends=[])
    led = []
    for begin in range(5, 25):
        outages = [(float(begin), 30.0, "refused")] if length is None else []
        stops = [] if length is None else [(float(begin), length)]
        cluster = Cluster(10.2, 0.0)
        play(cluster, [Process(0.0, 0, False, 0.0, [Fate(back=back)], outages, stops, ends=[]), watchful])
        assert cluster.violations == []
        led.append("0" in cluster.was_acting)
    assert any(led)


# ---------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("times", "complaint"),
    [
        pytest.param(
            {"lease_duration": 10}, "leaseDuration must be greater than renewDeadline", id="too short a lease"
        ),
        pytest.param({"retry_period": 9}, "renewDeadline must be greater than 1.2 times", id="too long a period"),
        pytest.param({"retry_period": 0}, "retryPeriod must be greater than zero", id="no period"),
        pytest.param({"identity": ""}, "identity of a candidate must not be empty", id="no name"),
    ],
)
def test_settings_that_are_not_safe_are_refused(times: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        LeaseSettings(**{"namespace": "ns", "name": "n", "identity": "i"} | times)


def test_a_duration_with_a_fraction_is_rounded_up() -> None:
    assert options("i", lease_duration=10.5, renew_deadline=10.2).whole_seconds == 11


def test_a_request_may_take_half_the_renew_deadline_and_at_least_a_second() -> None:
    assert options("i").request_timeout == 5
    assert options("i", lease_duration=2, renew_deadline=1, retry_period=0.1).request_timeout == 1
