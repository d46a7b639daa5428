"""The first part of a search: how many devices each request needs, and which they are if it asks for all."""

from collections.abc import Iterator
from typing import NamedTuple

from pilotage.plugins.devices.dynamic_resources.attempt import Device
from pilotage.plugins.devices.dynamic_resources.choices import Stopped, lowest
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative, Request, named
from pilotage.plugins.devices.dynamic_resources.meter import Paused
from pilotage.plugins.devices.dynamic_resources.outcomes import Failure, What
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.pools import READY, PoolState

MOST_DEVICES = 32  # of one claim


class Needs(NamedTuple):
    """What an alternative needs: a number of devices; which they are, if it is all and a claim may have so many."""

    number: int
    devices: tuple[Device, ...] = ()


def prepare(plan: Plan, pools: tuple[PoolState, ...], needs: list[Needs]) -> None:
    """Add the needs of all alternatives, or raise Stopped with the first error; go on where it was Paused."""
    for index, claim in enumerate(plan.claims):
        total = 0
        for request in claim.requests:
            least = _least(plan, index, request, pools, needs)
            if total + least > MOST_DEVICES:
                limit = f"exceeds the claim limit of {MOST_DEVICES}, with {total} already accounted for"
                raise Stopped(Failure((*named(index, request.name), f"adding {least} devices {limit}")))
            total += least
        if claim.refusal is not None:
            raise Stopped(claim.refusal)


def _least(plan: Plan, claim: int, request: Request, pools: tuple[PoolState, ...], needs: list[Needs]) -> int:
    """Add the needs of the alternatives of a request that are not there yet, and return the smallest."""
    if request.refusal is not None:
        raise Stopped(request.refusal)
    for each in request.alternatives:
        if each.refusal is not None:
            raise Stopped(each.refusal)
        if each.number == len(needs):
            needs.append(_all(plan, claim, each, pools) if each.takes_all else Needs(each.count))
    return min(needs[each.number].number for each in request.alternatives)


def _all(plan: Plan, claim: int, alternative: Alternative, pools: tuple[PoolState, ...]) -> Needs:
    choices, meter, offset = plan.choices[alternative.number], plan.meter, 0
    if meter.left <= 0:
        raise Paused
    found: list[tuple[int, int]] = []  # pools, and masks of their devices
    for index, pool in enumerate(pools):
        shape = pool.shape
        if shape.status is not READY:
            text = f" {shape.status.value}"
            start = named(claim, alternative.label)
            raise Stopped(Failure((*start, "asks for all devices, but resource pool ", (What.POOL, index), text)))
        choice = choices.of(shape)
        meter.left -= 1 + choice.judge_all((1 << shape.size) - 1)
        if choice.wrong:
            raise choice.stop_at(lowest(choice.wrong), offset)
        found.append((index, choice.good))
        offset += shape.size
    number = sum(good.bit_count() for _, good in found)
    return Needs(number, tuple(_listed(found)) if number <= MOST_DEVICES else ())


def _listed(found: list[tuple[int, int]]) -> Iterator[Device]:
    for pool, good in found:
        while good:
            yield Device(pool, lowest(good))
            good &= good - 1
