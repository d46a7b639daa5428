"""What is decoded in steps is what it would be if it were decoded at once."""

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from pilotage.cluster.watch import stepwise_decoding
from pilotage.cluster.watch.stepwise_decoding import decoded_in_steps
from pilotage.model.pod import PodObject
from pilotage.testing import pod_manifest


class Leaf(Struct, rename="camel"):
    long_name: str = ""
    number: int | None = None


class Branch(Struct, rename="camel"):
    name: str
    leaves: tuple[Leaf, ...] = ()
    first_leaf: Leaf | None = None
    labels: dict[str, str] = {}
    either: int | str = 0


class Tree(Struct):
    branch: Branch
    others: tuple[Branch, ...] | None = None


def run(raw: bytes, kind: Any) -> tuple[Any, int]:
    """Decode; returns also the number of rests."""
    steps, rests = decoded_in_steps(raw, kind), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, rests
        rests += 1


leaves = st.fixed_dictionaries({}, optional={"longName": st.text(max_size=9), "number": st.none() | st.integers(-9, 9)})
branches = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=3) | st.none(),  # it must be there, and must be a text
        "leaves": st.lists(leaves, max_size=6),
        "firstLeaf": st.none() | leaves,
        "labels": st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=3),
        "either": st.integers() | st.text(max_size=3),
        "unknown": st.lists(st.integers(), max_size=3),
    },
)
trees = st.fixed_dictionaries({"branch": branches}, optional={"others": st.none() | st.lists(branches, max_size=3)})


@pytest.mark.parametrize("size", [pytest.param(5, id="as many steps as there can be"), pytest.param(60, id="some")])
@given(tree=trees)
def test_steps_change_nothing(tree: dict[str, Any], size: int) -> None:
    raw = msgspec.json.encode(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stepwise_decoding, "SLICE", size)
        try:
            whole = msgspec.json.decode(raw, type=Tree)
        except msgspec.ValidationError:
            with pytest.raises(msgspec.ValidationError):
                run(raw, Tree)
        else:
            assert run(raw, Tree)[0] == whole


def test_what_is_small_is_decoded_at_once() -> None:
    found, rests = run(msgspec.json.encode(pod_manifest("a")), PodObject)
    assert (found.metadata.name, rests) == ("a", 0)


def test_no_step_of_the_largest_pods_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    term = {"weight": 1, "podAffinityTerm": {"labelSelector": {}, "topologyKey": "a", "namespaceSelector": {}}}
    pod = pod_manifest("a")
    pod["spec"]["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term] * 120_000}}
    raw = msgspec.json.encode(pod)
    assert len(raw) > 10_000_000
    began = time.thread_time()
    whole = msgspec.json.decode(raw, type=PodObject)
    at_once = time.thread_time() - began
    longest, found, steps = 0.0, None, decoded_in_steps(raw, PodObject)
    while found is None:
        began = time.thread_time()
        try:
            next(steps)
        except StopIteration as end:
            found = end.value
        longest = max(longest, time.thread_time() - began)
    assert found == whole
    with capsys.disabled():
        print(
            f"\n{len(raw) / 1e6:.1f} MB: {at_once * 1000:.0f} ms at once, {longest * 1000:.0f} ms in the longest step"
        )
    assert longest < 1.0
