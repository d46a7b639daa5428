"""The kubelets that are played on fake nodes reject what real ones do, in their words."""

import pytest

from kit.kubelet_admission import PlayedKubelet, Shortage

NODE = {"pods": 2, "cpu": 2000, "memory": 1000}


@pytest.mark.parametrize(
    ("there", "wanted", "reason"),
    [
        pytest.param([], {"pods": 1, "cpu": 2000}, None, id="a pod that fills the node is taken"),
        pytest.param([{"cpu": 1900}], {"pods": 1, "cpu": 500}, "OutOfcpu", id="a pod that lacks cpu is rejected"),
        pytest.param([{"memory": 600}], {"pods": 1, "memory": 500}, "OutOfmemory", id="and one that lacks memory"),
        pytest.param([{"pods": 1}] * 2, {"pods": 1, "cpu": 1}, "OutOfpods", id="and one too many"),
        pytest.param(
            [], {"pods": 1, "example.com/gpu": 1}, None, id="a resource that the node does not list is ignored"
        ),
        pytest.param([{"cpu": 2000}], {"pods": 1}, None, id="a pod that asks for nothing needs no cpu"),
    ],
)
def test_what_does_not_fit_is_rejected(there: list[dict[str, int]], wanted: dict[str, int], reason: str | None) -> None:
    kubelet = PlayedKubelet(NODE, {str(number): each for number, each in enumerate(there)})
    shortage = kubelet.admit("new", wanted)
    assert (shortage and shortage.status()["reason"]) == reason
    assert ("new" in kubelet.pods) == (reason is None)


def test_a_rejection_has_the_kubelets_three_numbers() -> None:
    said = "Node didn't have enough resource: cpu, requested: 500, used: 1900, capacity: 2000"
    status = Shortage("cpu", 500, 1900, 2000).status()
    assert status == {"phase": "Failed", "reason": "OutOfcpu", "message": f"Pod was rejected: {said}"}
