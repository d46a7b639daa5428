"""The first part of a search: how many devices each request needs, and which they are if it asks for all."""

from typing import NamedTuple

from pilotage.plugins.devices.dynamic_resources.attempt import Device
from pilotage.plugins.devices.dynamic_resources.choices import Stopped
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative, Request, named
from pilotage.plugins.devices.dynamic_resources.outcomes import Failure, What
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.pools import READY, PoolState

MOST_DEVICES = 32  # of one claim


class Needs(NamedTuple):
    """What an alternative needs: a number of devices, or all in a list."""

    number: int
    devices: tuple[Device, ...] | None = None


def prepare(plan: Plan, pools: tuple[PoolState, ...]) -> list[Needs]:
    """Return the needs of all alternatives, or raise Stopped with the first error."""
    needs: list[Needs] = []
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
    return needs


def _least(plan: Plan, claim: int, request: Request, pools: tuple[PoolState, ...], needs: list[Needs]) -> int:
    """Add the needs of the alternatives of a request, and return the smallest."""
    if request.refusal is not None:
        raise Stopped(request.refusal)
    start = len(needs)
    for each in request.alternatives:
        if each.refusal is not None:
            raise Stopped(each.refusal)
        needs.append(_all(plan, claim, each, pools) if each.takes_all else Needs(each.count))
    return min(need.number for need in needs[start:])


def _all(plan: Plan, claim: int, alternative: Alternative, pools: tuple[PoolState, ...]) -> Needs:
    devices: list[Device] = []
    choices, offset = plan.choices[alternative.number], 0
    for index, pool in enumerate(pools):
        shape = pool.shape
        if shape.status is not READY:
            text = f" {shape.status.value}"
            start = named(claim, alternative.label)
            raise Stopped(Failure((*start, "asks for all devices, but resource pool ", (What.POOL, index), text)))
        choice, free = choices.of(shape), (1 << shape.size) - 1
        while (place := choice.first(free)) >= 0:
            if choice.wrong >> place & 1:
                raise choice.stop_at(place, offset)
            devices.append(Device(index, place))
            free &= -2 << place
        offset += shape.size
    return Needs(len(devices), tuple(devices))
