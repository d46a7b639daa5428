"""Adding up what a pod asks for: right for any containers, and no more work than the pod is long."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.counted_work import CountedNumber
from pilotage.model import requests
from pilotage.model.pod_spec import Container, PodSpec, Resources
from pilotage.model.quantity import Quantity
from pilotage.model.requests import effective_requests, is_as_asked, usage
from pilotage.testing.objects import make_pod

RESOURCES = ["example.com/a", "example.com/b", "example.com/c"]
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(-1, 3), max_size=3)
INIT = st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=5)


def containers(amounts: list[tuple[dict[str, int], bool]]) -> tuple[Container, ...]:
    return tuple(
        Container(f"c{i}", resources=Resources(requests=dict(each)), restart_policy="Always" if sidecar else "")
        for i, (each, sidecar) in enumerate(amounts)
    )


def plus(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}


def larger(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0), 0) for name in {*one, *other}}


@given(st.lists(AMOUNTS, max_size=4), INIT)
def test_as_the_definition_says(regular: list[dict[str, int]], init: list[tuple[dict[str, int], bool]]) -> None:
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for amounts, is_sidecar in init:
        running = plus(sidecars, amounts)
        peak = larger(peak, running)
        sidecars = running if is_sidecar else sidecars
    total = sidecars
    for amounts in regular:
        total = plus(total, amounts)
    spec = PodSpec(containers=containers([(each, False) for each in regular]), init_containers=containers(init))
    assert effective_requests(spec) == larger(total, peak)


def many(number: int, **fields: Any) -> tuple[Container, ...]:
    return tuple(
        Container(f"c{i}", resources=Resources(requests={f"x{i}.io/{j}": "1" for j in range(5)}), **fields)
        for i in range(number)
    )


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(PodSpec(containers=many(300)), id="containers"),
        pytest.param(PodSpec(init_containers=many(300)), id="init containers"),
        pytest.param(PodSpec(init_containers=many(300, restart_policy="Always")), id="sidecars"),
    ],
)
def test_each_container_costs_what_it_names(spec: PodSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "parse", lambda _: Quantity(CountedNumber(10**9)))
    CountedNumber.used = 0
    assert len(effective_requests(spec)) == 1500
    assert CountedNumber.used <= 6 * 1500


def test_a_status_that_says_nothing_is_not_compared_with_what_is_asked() -> None:
    asked = {f"example.com/r{i}": "1" for i in range(3)}
    statuses = [{"name": "main"} for _ in range(100)]
    pod = make_pod(requests=asked, status={"containerStatuses": statuses}, node="n")
    assert is_as_asked(pod.spec, pod.status)
    assert usage(pod.spec, pod.status)[0] == pod.requests


def test_a_status_that_says_something_else_counts() -> None:
    status = {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "2"}}]}
    pod = make_pod(cpu="1", status=status, node="n")
    assert not is_as_asked(pod.spec, pod.status)
    assert pod.usage == {"cpu": 2000}
