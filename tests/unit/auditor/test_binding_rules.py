from collections.abc import Iterator

import pytest

from auditor.attempt import Attempt
from auditor.testing import DELETING, GATED, Step, World, bind, gone, listed, missed, node, passes, pod, seen, told

NODES = [seen(node("n1")), seen(node("n2"))]
SERVES = ["me=default-scheduler", "rival=other"]
BOUND = seen(pod(node="n1"))
THEIRS = pod(schedulerName="other")
SECOND = pod(meta={"uid": "second"})


@pytest.mark.parametrize(
    ("history", "rules"),
    [
        pytest.param([seen(pod()), bind(), BOUND], [], id="one binding is fine"),
        pytest.param([seen(pod()), BOUND, bind(ago=0.1)], [], id="one binding is fine when its line comes late"),
        pytest.param([bind(), seen(pod()), BOUND], [], id="one binding is fine when its line comes first"),
        pytest.param([seen(pod()), bind(), BOUND, bind(to="n2")], ["double-bind"], id="a second binding elsewhere"),
        pytest.param([seen(pod()), bind(), BOUND, bind()], ["double-bind"], id="a second binding to the same node"),
        pytest.param([seen(pod()), bind(to="n2"), BOUND], ["double-bind"], id="bound to one node and seen on another"),
        pytest.param(
            [seen(pod()), BOUND, bind(to="n2", ago=1)], ["double-bind"], id="seen on one and bound to another"
        ),
        pytest.param([seen(pod()), BOUND, seen(pod(node="n2"))], ["double-bind"], id="a node that changes"),
        pytest.param(
            [seen(pod()), BOUND, missed(pod(node="n2")), listed()], ["double-bind"], id="a node that changed unseen"
        ),
        pytest.param(
            [seen(pod()), bind(), BOUND, gone(), seen(pod(meta={"uid": "second"})), bind(uid="second", to="n2")],
            [],
            id="a namesake of a pod that is gone is another pod",
        ),
        pytest.param([seen(pod()), bind(code=500), bind(), BOUND], [], id="a failed request does not count"),
        pytest.param([seen(pod()), bind(code=409), BOUND], [], id="a refused request does not count"),
    ],
)
def test_double_bind(history: list[Step], rules: list[str]) -> None:
    assert told(NODES + history).rules == rules


@pytest.mark.parametrize(
    ("history", "rules"),
    [
        pytest.param([seen(pod()), bind(by="me")], [], id="the one who serves may bind"),
        pytest.param([seen(pod()), bind(by="rival")], ["foreign-binder"], id="one who serves others may not"),
        pytest.param([seen(pod()), bind(by="nobody")], ["foreign-binder"], id="one who serves nobody may not"),
        pytest.param([bind(by="rival"), passes(9), seen(pod())], ["foreign-binder"], id="the line may come first"),
        pytest.param([bind(by="me"), passes(9), seen(pod())], [], id="a line that comes first may be fine"),
        pytest.param([seen(pod(schedulerName="other")), bind(by="rival")], [], id="each serves its own"),
        pytest.param(
            [seen(pod()), gone(), bind(by="rival", ago=1)], ["foreign-binder"], id="the pod may be gone by now"
        ),
        pytest.param([seen(pod()), bind(by="rival", code=409)], [], id="an attempt that was refused is no binding"),
        pytest.param(
            [seen(pod()), passes(2), bind(by="rival", uid="")], ["foreign-binder"], id="a request may name no uid"
        ),
        pytest.param(
            [seen(THEIRS), passes(1), gone(), passes(3), seen(SECOND), bind(by="rival", uid="", ago=3.5)],
            [],
            id="a request without uid means the pod that lived then",
        ),
    ],
)
def test_foreign_binder(history: list[Step], rules: list[str]) -> None:
    assert told(NODES + history, serves=SERVES).rules == rules


@pytest.mark.parametrize(
    ("serves", "rules"),
    [
        pytest.param([], [], id="nobody declared: anyone may"),
        pytest.param(["me=*"], [], id="a star serves everyone"),
        pytest.param(["me=other", "me=default-scheduler"], [], id="declarations add up"),
        pytest.param(["you=*"], ["foreign-binder"], id="a star serves only for its user"),
    ],
)
def test_who_serves(serves: list[str], rules: list[str]) -> None:
    assert told([*NODES, seen(pod()), bind()], serves=serves).rules == rules


@pytest.mark.parametrize(
    ("history", "rules"),
    [
        pytest.param([bind("ghost"), passes(1)], ["unknown-pod"], id="granted for a pod nobody saw"),
        pytest.param([bind("ghost"), passes(200)], ["unknown-pod"], id="told before the end"),
        pytest.param([bind("ghost", code=404), passes(200)], [], id="not granted"),
        pytest.param([passes(9), bind("ghost", ago=3), listed(blind_for=5)], [], id="while nothing was in sight"),
        pytest.param([passes(9), bind("ghost", ago=7), listed(blind_for=5)], ["unknown-pod"], id="before that"),
    ],
)
def test_unknown_pod(history: list[Step], rules: list[str]) -> None:
    assert told(NODES + history).rules == rules


BLOCKED = {"gated": pod(**GATED), "deleting": pod(meta=DELETING), "bound": pod(node="n1")}


@pytest.mark.parametrize("state", BLOCKED)
@pytest.mark.parametrize(
    ("steps", "is_violation"),
    [
        pytest.param([passes(6), bind(code=409)], True, id="tried long after it was visible"),
        pytest.param([passes(4), bind(code=409)], False, id="tried before the news could arrive"),
        pytest.param([passes(9), bind(code=409, ago=6)], False, id="tried early and logged late"),
        pytest.param([passes(6), bind(code=403)], False, id="refused for another reason"),
        pytest.param([passes(6), bind(code=500)], False, id="failed without an answer"),
        pytest.param([passes(6), bind(code=409), passes(9)], True, id="told before the end"),
        pytest.param([passes(6), bind(code=409), bind(code=409)], True, id="told once"),
        pytest.param([passes(6), gone(), passes(1), bind(code=409)], False, id="tried when it was gone"),
        pytest.param([passes(6), bind(code=409, uid="other")], False, id="tried for a namesake"),
        pytest.param(
            [passes(6), gone(), passes(5), bind(code=409, ago=7)], False, id="tried early, logged after the end"
        ),
        pytest.param([passes(8), gone(), bind(code=409, ago=2)], True, id="tried late, logged after the end"),
    ],
)
def test_refused(state: str, steps: list[Step], is_violation: bool) -> None:
    history = [*NODES, seen(pod()), seen(BLOCKED[state]), *steps]
    assert told(history).rules == [f"bound-{state}"] * is_violation


@pytest.mark.parametrize(
    ("history", "rules"),
    [
        pytest.param([seen(pod(**GATED)), passes(9), seen(pod()), bind(), BOUND], [], id="bound after the gates went"),
        pytest.param(
            [seen(pod(**GATED)), passes(9), bind(), passes(0.5), seen(pod()), BOUND], [], id="a faster eye than ours"
        ),
        pytest.param([seen(pod(**GATED)), seen(pod(node="n1", **GATED))], ["bound-gated"], id="seen bound and gated"),
        pytest.param([seen(pod()), bind(), BOUND, seen(pod(node="n1", meta=DELETING))], [], id="deleted when bound"),
        pytest.param(
            [seen(pod()), missed(pod(node="n1", meta=DELETING)), listed()], [], id="bound, then deleted, out of sight"
        ),
        pytest.param(
            [seen(pod(meta=DELETING)), seen(pod(node="n1", meta=DELETING))],
            ["bound-deleting"],
            id="seen to come to a node while deleting, however fast",
        ),
        pytest.param([seen(pod()), bind(), seen(pod(meta=DELETING)), gone()], [], id="deleted in the same moment"),
        pytest.param([BOUND, passes(1), bind()], ["bound-bound"], id="born with a node and bound again"),
    ],
)
def test_granted(history: list[Step], rules: list[str]) -> None:
    assert told(NODES + history).rules == rules


def interleavings(*streams: list[Step]) -> Iterator[list[Step]]:
    """Yield every order in which the steps of several streams can come; each stream keeps its own order."""
    if not any(streams):
        yield []
    for i, stream in enumerate(streams):
        if stream:
            rest = [*streams[:i], stream[1:], *streams[i + 1 :]]
            yield from ([stream[0], *tail] for tail in interleavings(*rest))


NODE_STREAM = [seen(node("n1", cpu="1"))]
POD_STREAM = [seen(pod()), BOUND, seen(pod(node="n1", meta=DELETING)), gone(), seen(pod("b", "n1"))]


@pytest.mark.parametrize(
    ("binder", "rules"),
    [
        pytest.param("me", [], id="a legal life breaks no rule in any order of the streams"),
        pytest.param("rival", ["foreign-binder"], id="a foreign binder is found in any order of the streams"),
    ],
)
def test_order_of_streams(binder: str, rules: list[str]) -> None:
    for history in interleavings(NODE_STREAM, POD_STREAM, [bind(by=binder, ago=0.5)]):
        assert told(history, serves=SERVES).rules == rules


def test_a_line_that_is_read_twice_is_one_binding() -> None:
    line = Attempt("me", "default", "a", "uid-a", "n1", 201, 0.0, audit_id="one")

    def again(world: World) -> None:
        world.ledger.attempted(line)

    assert told([*NODES, seen(pod()), again, again]).rules == []


def test_a_state_that_ended_a_moment_before_is_no_reason_to_accuse() -> None:
    # Another scheduler was faster, and the log is ahead of the watch.
    refused = [passes(9), bind(code=409), passes(0.5), seen(pod()), BOUND, passes(3)]
    assert told([*NODES, seen(pod(**GATED)), *refused]).rules == []
