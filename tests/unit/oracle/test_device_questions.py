"""Questions for the device allocator come from their seed alone, and say the same to both sides."""

import pytest

from oracle.claims import plain, written
from oracle.generate_device_questions import CROWD, question
from oracle.scenario import Manifest

SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_gives_the_same_question_again(seed: int) -> None:
    assert question(seed) == question(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_held_devices_are_told_as_sums(seed: int) -> None:
    asked = question(seed)
    told = asked.for_kubernetes()
    results = [one for holder in asked.holders for one in holder["status"]["allocation"]["devices"]["results"]]
    counted = [one for one in results if not one.get("adminAccess")]
    assert len(told["allocated"]) + len(told["shares"]) == len(counted)
    assert all("shareID" in one for one in told["shares"])


@pytest.mark.parametrize("seed", SEEDS)
def test_taint_rules_are_told_as_taints(seed: int) -> None:
    asked = question(seed)
    before, after = (sum(len(taints) for taints in _taints(slices)) for slices in (asked.slices, _told(seed)))
    assert before <= after
    if not asked.rules:
        assert before == after


def test_some_questions_are_about_more_devices_than_a_claim_may_have() -> None:
    (crowd,) = question(0).slices
    assert len(crowd["spec"]["devices"]) == CROWD


def test_what_is_empty_and_the_names_of_shares_do_not_count() -> None:
    made = {"shareID": "1-2-3", "a": "", "b": {"c": []}, "d": [{"e": None, "f": 1}]}
    assert plain(made) == {"shareID": "some", "d": [{"f": 1}]}


def test_the_claims_of_a_pod_are_those_that_it_names_and_those_made_for_it() -> None:
    pod: Manifest = {
        "metadata": {"namespace": "default", "name": "p"},
        "spec": {
            "resourceClaims": [
                {"name": "a", "resourceClaimName": "own"},
                {"name": "b", "resourceClaimTemplateName": "t"},
                {"name": "c", "resourceClaimTemplateName": "not made"},
            ]
        },
        "status": {
            "resourceClaimStatuses": [{"name": "b", "resourceClaimName": "made"}],
            "extendedResourceClaimStatus": {"resourceClaimName": "special", "requestMappings": [{"requestName": "r"}]},
        },
    }
    claims = [_claim(name) for name in ("own", "made", "special", "of-another")]
    found = written(pod, claims)
    assert list(found) == ["own", "made", "made for the pod"]
    assert found["own"] == {"allocation": {}, "reservedFor": [], "finalizers": []}
    assert found["made for the pod"]["mappings"] == [{"requestName": "r"}]


def _claim(name: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {}, "status": {}}


def _told(seed: int) -> list[Manifest]:
    slices: list[Manifest] = question(seed).for_kubernetes()["slices"]
    return slices


def _taints(slices: list[Manifest]) -> list[list[Manifest]]:
    return [device.get("taints", []) for one in slices for device in one["spec"].get("devices", ())]
