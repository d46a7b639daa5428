"""Scenarios come from their seed alone, and look like what the API server takes."""

import pytest

from oracle.generate import SUBJECTS, scenario, seeds_of
from oracle.kinds import KINDS
from oracle.scenario import Manifest, Scenario, key_of
from oracle.stage import NAMESPACES

ROUNDS = 4
SEEDS = range(ROUNDS * len(SUBJECTS))


@pytest.mark.parametrize("seed", SEEDS[: len(SUBJECTS)])
def test_a_seed_gives_the_same_scenario_again(seed: int) -> None:
    assert scenario(seed) == scenario(seed)


def test_seeds_go_round_all_subjects() -> None:
    assert [scenario(seed).subject for seed in SEEDS] == [*SUBJECTS] * ROUNDS


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_seeds_of_a_subject_have_that_subject(subject: str) -> None:
    seeds = seeds_of(subject, 3, start=10)
    assert [scenario(seed).subject for seed in seeds] == [subject] * 3
    assert min(seeds) >= 10


@pytest.mark.parametrize("seed", SEEDS)
def test_every_object_has_a_known_kind_and_a_name_of_its_own(seed: int) -> None:
    made = scenario(seed)
    everything = [*made.objects, *made.pods]
    assert {manifest["kind"] for manifest in everything} <= {*KINDS}
    names = [(manifest["kind"], key_of(manifest)) for manifest in everything]
    assert len(names) == len({*names})


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_pods_to_decide_in_namespaces_that_exist(seed: int) -> None:
    made = scenario(seed)
    assert 1 <= len(made.pods) <= 10
    assert {namespace_of(pod) for pod in made.pods} <= {"default", *NAMESPACES}
    assert all("nodeName" not in pod["spec"] for pod in made.pods)


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_run_on_nodes_that_exist(seed: int) -> None:
    made = scenario(seed)
    nodes = {one["metadata"]["name"] for one in made.objects if one["kind"] == "Node"}
    used = {one["spec"].get("nodeName") for one in made.objects if one["kind"] == "Pod"}
    assert used - {None} <= nodes


def test_a_scenario_survives_being_written_down() -> None:
    for seed in SEEDS:
        assert Scenario.from_json(scenario(seed).to_json()) == scenario(seed)


def namespace_of(pod: Manifest) -> str:
    return str(pod["metadata"]["namespace"])
