import asyncio
from typing import Any

import pytest

from pilotage.cluster.transport.api_errors import OutcomeUnknown, Unreachable
from pilotage.cluster.write.bind_outcomes import Bound, Refusal, Refused, Unknown
from pilotage.cluster.write.binder import Binder
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

PATH = "/api/v1/namespaces/ns/pods/web"
POD = make_pod("web", namespace="ns", uid="u1")
SUCCESS = {"kind": "Status", "status": "Success"}

# What a kube-apiserver of 1.37 says.
ELSEWHERE = 'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n2"'
OURS = 'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n1"'
LONGER = 'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n1.example"'
DELETING = 'Operation cannot be fulfilled on pods/binding "web": pod web is being deleted, cannot be assigned to a host'
GATED = 'Operation cannot be fulfilled on pods/binding "web": pod web has non-empty .spec.schedulingGates'
OTHER_UID = (
    'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, Key: /registry/pods/ns/web, '
    "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u1, UID in object meta: u2"
)


def found(node: str = "", uid: str = "u1") -> dict[str, Any]:
    return {"metadata": {"name": "web", "uid": uid}, "spec": {"nodeName": node} if node else {}}


def always(*_: Any) -> bool:
    return True


async def test_what_is_sent(fake_api: Any) -> None:
    api = fake_api(SUCCESS)
    assert await Binder(api, always).bind(POD, "n1") == Bound()
    (call,) = api.calls
    assert (call.verb, call.path) == ("POST", f"{PATH}/binding")
    assert call.body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web", "namespace": "ns", "uid": "u1"},
        "target": {"kind": "Node", "name": "n1"},
    }


async def test_a_name_cannot_leave_its_place_in_the_path(fake_api: Any) -> None:
    api = fake_api(SUCCESS)
    await Binder(api, always).bind(make_pod("../x?y", namespace="a/b"), "n1")
    assert api.calls[0].path == "/api/v1/namespaces/a%2Fb/pods/..%2Fx%3Fy/binding"


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        pytest.param(409, DELETING, Refusal.DELETING, id="the pod is being deleted"),
        pytest.param(409, ELSEWHERE, Refusal.ELSEWHERE, id="the pod is on another node"),
        pytest.param(409, LONGER, Refusal.ELSEWHERE, id="the pod is on a node whose name begins like ours"),
        pytest.param(409, GATED, Refusal.GATED, id="the pod is gated"),
        pytest.param(409, OTHER_UID, Refusal.GONE, id="another pod has its name"),
        pytest.param(404, 'pods "web" not found', Refusal.GONE, id="the pod is gone"),
        pytest.param(403, "forbidden", Refusal.FORBIDDEN, id="we may not bind at all"),
        pytest.param(400, "name in URL does not match", Refusal.FAILED, id="the server finds fault with it"),
        pytest.param(422, "invalid", Refusal.FAILED, id="the server finds it invalid"),
    ],
)
async def test_a_refusal_is_final_and_in_the_servers_words(
    fake_api: Any, refusal: Any, status: int, message: str, expected: Refusal
) -> None:
    api = fake_api(refusal(status, message))
    assert await Binder(api, always).bind(POD, "n1") == Refused(expected, message)
    assert api.verbs == ["POST"]


async def test_already_assigned_to_our_node_is_our_own_work(fake_api: Any, refusal: Any) -> None:
    api = fake_api(OutcomeUnknown("timed out"), found(), refusal(409, OURS))
    assert await Binder(api, always).bind(POD, "n1") == Bound()


@pytest.mark.parametrize("failures", [1, 2, 3])
async def test_no_connection_for_a_moment(fake_api: Any, failures: int) -> None:
    api = fake_api(*(Unreachable("down") for _ in range(failures)), SUCCESS)
    assert await Binder(api, always).bind(POD, "n1") == Bound()
    assert api.verbs == ["POST"] * (failures + 1)


@pytest.mark.parametrize(
    "failures",
    [
        pytest.param([500], id="after an error of the server"),
        pytest.param([503, 500], id="after two"),
        pytest.param([503, 504, 503], id="after three"),
    ],
)
async def test_trouble_that_passes(fake_api: Any, refusal: Any, failures: list[int]) -> None:
    api = fake_api(*(answer for status in failures for answer in (refusal(status), found())), SUCCESS)
    assert await Binder(api, always).bind(POD, "n1") == Bound()
    assert api.verbs == ["POST", "GET"] * len(failures) + ["POST"]


async def test_four_attempts_with_growing_pauses(fake_api: Any) -> None:
    api = fake_api(*(Unreachable("connection refused") for _ in range(9)))
    assert await Binder(api, always).bind(POD, "n1") == Refused(Refusal.FAILED, "connection refused")
    assert api.verbs == ["POST"] * 4
    first, second, third, fourth = api.times
    assert 0.010 <= second - first <= 0.0111
    assert 0.050 <= third - second <= 0.0551
    assert 0.250 <= fourth - third <= 0.2751


@pytest.mark.parametrize(
    ("asked", "shortest", "longest"),
    [
        pytest.param(2.0, 2.0, 2.0, id="as long as the server asks"),
        pytest.param(3600.0, 10.0, 10.0, id="but not for ever"),
        pytest.param(None, 0.01, 0.0111, id="and as always if it asks for nothing"),
    ],
)
async def test_too_many_requests(
    fake_api: Any, refusal: Any, asked: float | None, shortest: float, longest: float
) -> None:
    api = fake_api(refusal(429, "slow down", asked), SUCCESS)
    assert await Binder(api, always).bind(POD, "n1") == Bound()
    assert shortest <= api.times[1] - api.times[0] <= longest + 1e-6


async def test_too_many_requests_too_often(fake_api: Any, refusal: Any) -> None:
    api = fake_api(*(refusal(429, "slow down") for _ in range(9)))
    assert await Binder(api, always).bind(POD, "n1") == Refused(Refusal.FAILED, "slow down")
    assert api.verbs == ["POST"] * 4


class TestMayBind:
    async def test_nothing_is_sent_without_leave(self, fake_api: Any) -> None:
        api = fake_api()
        outcome = await Binder(api, lambda pod, node: False).bind(POD, "n1")
        assert isinstance(outcome, Refused)
        assert outcome.kind is Refusal.NOT_ALLOWED
        assert api.calls == []

    async def test_it_is_asked_before_every_attempt(self, fake_api: Any) -> None:
        leave, asked = iter([True, True, False]), []

        def may_bind(*given: Any) -> bool:
            asked.append(given)
            return next(leave)

        api = fake_api(Unreachable("down"), Unreachable("down"))
        outcome = await Binder(api, may_bind).bind(POD, "n1")
        assert isinstance(outcome, Refused)
        assert outcome.kind is Refusal.NOT_ALLOWED
        assert api.verbs == ["POST", "POST"]
        assert asked == [(POD, "n1")] * 3

    async def test_an_attempt_before_that_may_have_worked(self, fake_api: Any, refusal: Any) -> None:
        leave = iter([True, False])
        api = fake_api(refusal(500), found("n1"))
        assert await Binder(api, lambda pod, node: next(leave)).bind(POD, "n1") == Bound()


class TestWhatTheWatchSaysBeforeAnythingIsSent:
    """A request can wait for its connection for seconds; the pod may be bound or gone by then."""

    @pytest.mark.parametrize(
        ("seen", "expected"),
        [
            pytest.param("n1", Bound(), id="on our node"),
            pytest.param(
                "n2", Refused(Refusal.ELSEWHERE, 'pod web is already assigned to node "n2"'), id="on another one"
            ),
            pytest.param("", Refused(Refusal.GONE, 'pods "web" not found'), id="gone"),
            pytest.param(None, Unknown(), id="it will say nothing more"),
        ],
    )
    @pytest.mark.parametrize("earlier", [0, 1], ids=["at the first attempt", "at a second one"])
    async def test_it_is_not_sent(self, fake_api: Any, earlier: int, seen: str | None, expected: Any) -> None:
        api = fake_api(*(Unreachable("down") for _ in range(earlier)), seconds_until_sent=6)
        loop = asyncio.get_running_loop()
        resolved: asyncio.Future[str | None] = loop.create_future()
        loop.call_later(6 * earlier + 1, resolved.set_result, seen)
        assert await Binder(api, always).bind(POD, "n1", resolved) == expected
        assert api.verbs == ["POST"] * earlier

    async def test_it_counts_also_when_nothing_can_be_sent(self, fake_api: Any) -> None:
        resolved: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        down = Unreachable("down")

        def last(_call: Any) -> Unreachable:
            resolved.set_result("n1")
            return down

        api = fake_api(OutcomeUnknown("reset"), found(), down, down, last)
        assert await Binder(api, always).bind(POD, "n1", resolved) == Bound()

    async def test_leave_that_ended_while_it_waited(self, fake_api: Any) -> None:
        loop, api = asyncio.get_running_loop(), fake_api(seconds_until_sent=6)
        outcome = await Binder(api, lambda pod, node: loop.time() < 5).bind(POD, "n1")
        assert isinstance(outcome, Refused)
        assert outcome.kind is Refusal.NOT_ALLOWED
        assert api.calls == []


class TestNoAnswer:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            pytest.param(found("n1"), Bound(), id="it had taken effect"),
            pytest.param(
                found("n2"),
                Refused(Refusal.ELSEWHERE, 'pod web is already assigned to node "n2"'),
                id="somebody else was faster",
            ),
            pytest.param(
                found("n1", uid="u2"),
                Refused(Refusal.GONE, 'pods "web" was replaced by another pod of that name'),
                id="a namesake is there, on that very node",
            ),
        ],
    )
    async def test_the_pod_is_asked(self, fake_api: Any, answer: Any, expected: Any) -> None:
        api = fake_api(OutcomeUnknown("reset"), answer)
        assert await Binder(api, always).bind(POD, "n1") == expected
        assert [(call.verb, call.path) for call in api.calls] == [("POST", f"{PATH}/binding"), ("GET", PATH)]

    async def test_a_pod_that_is_gone(self, fake_api: Any, refusal: Any) -> None:
        api = fake_api(OutcomeUnknown("reset"), refusal(404))
        assert await Binder(api, always).bind(POD, "n1") == Refused(Refusal.GONE, 'pods "web" not found')

    async def test_a_pod_without_a_node_is_bound_again(self, fake_api: Any) -> None:
        api = fake_api(OutcomeUnknown("reset"), found(), SUCCESS)
        assert await Binder(api, always).bind(POD, "n1") == Bound()
        assert api.verbs == ["POST", "GET", "POST"]

    async def test_but_not_for_ever(self, fake_api: Any) -> None:
        api = fake_api(*[OutcomeUnknown("timed out"), found()] * 9)
        assert await Binder(api, always).bind(POD, "n1") == Refused(Refusal.FAILED, "timed out")
        assert api.verbs == ["POST", "GET"] * 4

    async def test_the_server_is_asked_until_it_answers(self, fake_api: Any, refusal: Any) -> None:
        trouble = [Unreachable("down"), OutcomeUnknown("reset"), refusal(500), refusal(403), b"<html>", refusal(429)]
        api = fake_api(OutcomeUnknown("reset"), *trouble * 10, found("n1"))
        assert await Binder(api, always).bind(POD, "n1") == Bound()
        assert api.verbs == ["POST"] + ["GET"] * 61
        pauses = [later - earlier for earlier, later in zip(api.times[1:], api.times[2:], strict=False)]
        assert 0.05 <= pauses[0] <= 0.1
        assert max(pauses) <= 5.0

    @pytest.mark.parametrize(
        ("seen", "expected"),
        [
            pytest.param("n1", Bound(), id="on our node"),
            pytest.param(
                "n2", Refused(Refusal.ELSEWHERE, 'pod web is already assigned to node "n2"'), id="on another one"
            ),
            pytest.param("", Refused(Refusal.GONE, 'pods "web" not found'), id="gone"),
            pytest.param(None, Unknown(), id="and never will"),
        ],
    )
    async def test_the_watch_saw_it_first(self, fake_api: Any, seen: str | None, expected: Any) -> None:
        api = fake_api(OutcomeUnknown("reset"), *(Unreachable("down") for _ in range(99)))
        loop = asyncio.get_running_loop()
        resolved: asyncio.Future[str | None] = loop.create_future()
        loop.call_later(20, resolved.set_result, seen)
        assert await Binder(api, always).bind(POD, "n1", resolved) == expected
        assert loop.time() == pytest.approx(20)
        asked = len(api.calls)
        await asyncio.sleep(60)
        assert len(api.calls) == asked

    async def test_nobody_watches_any_more(self, fake_api: Any) -> None:
        resolved: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        resolved.cancel()
        api = fake_api(OutcomeUnknown("reset"), *(Unreachable("down") for _ in range(99)))
        assert await Binder(api, always).bind(POD, "n1", resolved) == Unknown()

    @pytest.mark.parametrize(
        ("status", "message"),
        [
            pytest.param(504, "Timeout: request did not complete within requested timeout", id="it ran out of time"),
            pytest.param(500, "something broke", id="an error of its own"),
            pytest.param(503, "nobody is there", id="an error of somebody before it"),
            pytest.param(409, "the words of another version", id="a conflict in words that we do not know"),
        ],
    )
    async def test_answers_that_say_nothing(self, fake_api: Any, refusal: Any, status: int, message: str) -> None:
        api = fake_api(refusal(status, message), found("n1"))
        assert await Binder(api, always).bind(POD, "n1") == Bound()
        assert api.verbs == ["POST", "GET"]

    async def test_what_ran_out_of_time_without_effect_is_tried_again(self, fake_api: Any, refusal: Any) -> None:
        api = fake_api(refusal(504), found(), SUCCESS)
        assert await Binder(api, always).bind(POD, "n1") == Bound()
        assert api.verbs == ["POST", "GET", "POST"]

    async def test_a_server_that_asks_for_patience_is_not_asked_sooner(self, fake_api: Any, refusal: Any) -> None:
        api = fake_api(OutcomeUnknown("reset"), refusal(429, "slow down", 3.0), found("n1"))
        assert await Binder(api, always).bind(POD, "n1") == Bound()
        assert api.times[2] - api.times[1] == pytest.approx(3.0)

    async def test_a_conflict_that_nobody_knows_is_not_repeated(self, fake_api: Any, refusal: Any) -> None:
        api = fake_api(refusal(409, "words"), found())
        assert await Binder(api, always).bind(POD, "n1") == Refused(Refusal.FAILED, "words")

    @pytest.mark.parametrize(
        ("node", "expected"),
        [
            pytest.param("n1", Bound(), id="one of them bound the pod"),
            pytest.param("", Refused(Refusal.FAILED, "target.name: Required value"), id="none of them did"),
        ],
    )
    async def test_errors_of_the_server_may_hide_a_success(
        self, fake_api: Any, refusal: Any, node: str, expected: Any
    ) -> None:
        failure = refusal(500, "target.name: Required value")
        api = fake_api(*[failure, found()] * 3, failure, found(node))
        assert await Binder(api, always).bind(POD, "n1") == expected
        assert api.verbs == ["POST", "GET"] * 4

    async def test_no_node_is_not_a_node(self, fake_api: Any, refusal: Any) -> None:
        api = fake_api(*[refusal(500, "target.name: Required value"), found()] * 4)
        assert await Binder(api, always).bind(POD, "") == Refused(Refusal.FAILED, "target.name: Required value")

    async def test_giving_up_stops_the_asking(self, fake_api: Any) -> None:
        api = fake_api(OutcomeUnknown("reset"), *(Unreachable("down") for _ in range(99)))
        binding = asyncio.ensure_future(Binder(api, always).bind(POD, "n1"))
        await asyncio.sleep(1)
        binding.cancel()
        await asyncio.wait([binding])
        asked = len(api.calls)
        await asyncio.sleep(60)
        assert len(api.calls) == asked
