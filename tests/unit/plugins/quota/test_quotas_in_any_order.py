"""Whatever comes first of requests, answers and news: what is lent comes back, and nobody goes in vain."""

from random import Random

import pytest

from kit.disordered_core import DisorderedCore
from pilotage.testing import make_node
from pilotage.testing.quotas import make_quota

BESIDE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: CapacityScheduling}]
"""
ALONE = f"""{BESIDE}    postFilter:
      enabled: [{{name: CapacityScheduling}}]
      disabled: [{{name: "*"}}]
"""
PROFILES = pytest.mark.parametrize(
    "profile",
    [pytest.param(ALONE, id="in the place of DefaultPreemption"), pytest.param(BESIDE, id="beside DefaultPreemption")],
)


def world_of(seed: int, profile: str, cores: list[int], shares: dict[str, int]) -> DisorderedCore:
    world = DisorderedCore(seed, profile)
    for number, size in enumerate(cores):
        world.core.nodes.added(make_node(f"n{number}", cpu=size))
    for team, share in shares.items():
        world.core.objects.added(make_quota(team, {"cpu": share}, {"cpu": sum(shares.values()) - 2}))
    return world


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{n}" for n in range(count)]


@PROFILES
@pytest.mark.parametrize(
    ("borrower", "lender"),
    [
        pytest.param(0, 0, id="both matter the same"),
        pytest.param(9, 0, id="the borrower matters more"),
        pytest.param(0, 9, id="the lender matters more"),
    ],
)
@pytest.mark.parametrize("seed", range(4))
async def test_two_pods_go_for_two(seed: int, profile: str, borrower: int, lender: int) -> None:
    world = world_of(seed, profile, [4, 4], {"red": 4, "blue": 4})
    world.create("red", *names("red", 8), priority=borrower)
    await world.until_rest()
    assert len(world.running("red")) == 6
    world.create("blue", *names("blue", 4), priority=lender)
    await world.until_rest()
    assert (len(world.running("red")), len(world.running("blue"))) == (4, 4)
    assert [key.split("/")[0] for key in world.gone] == ["red", "red"]


@PROFILES
@pytest.mark.parametrize("seed", range(12))
async def test_many_teams_at_once(seed: int, profile: str) -> None:
    """One team has everything it may have; the others want what is theirs, all at the same time."""
    random = Random(seed)
    shares = {f"team{n}": random.randint(1, 4) for n in range(random.randint(3, 5))}
    total = sum(shares.values())
    cores: list[int] = []
    while (left := total - sum(cores)) > 0:
        cores.append(min(left, random.randint(1, 4)))
    world = world_of(seed, profile, cores, shares)
    first, *others = shares
    world.create(first, *names(first, total), priority=random.choice([0, 5]))
    await world.until_rest()
    assert len(world.running(first)) == total - 2
    wanted = [(team, name) for team in others for name in names(team, shares[team])]
    priorities = {team: random.choice([0, 5, 9]) for team in others}
    for team, name in random.sample(wanted, len(wanted)):
        world.create(team, name, priority=priorities[team])
    await world.until_rest()
    assert {team: len(world.running(team)) for team in shares} == shares
    assert len(world.gone) == total - 2 - shares[first]


@PROFILES
@pytest.mark.parametrize("seed", range(12))
async def test_large_pods_get_back_what_is_spread_over_nodes(seed: int, profile: str) -> None:
    """Each of two lenders wants a whole node at the same time, and on no node there are enough that have borrowed."""
    world = DisorderedCore(seed, profile)
    for number in range(5):
        world.core.nodes.added(make_node(f"n{number}", cpu=4))
    for team, share in {"red": 2, "blue": 4, "green": 4}.items():
        world.core.objects.added(make_quota(team, {"cpu": share}))
    world.create("red", *names("red", 10))
    await world.until_rest()
    assert len(world.running("red")) == 10
    world.create("blue", "blue", cpu=4)
    world.create("green", "green", cpu=4)
    await world.until_rest()
    assert (world.running("blue"), world.running("green")) == (["blue"], ["green"])
    assert [key.split("/")[0] for key in world.gone] == ["red"] * 8
