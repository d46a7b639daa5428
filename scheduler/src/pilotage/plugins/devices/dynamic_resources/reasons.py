"""Says which devices of a node a request finds, and why it cannot use the others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from pilotage.kinds.devices import ResourceClaim
from pilotage.plugins.devices.dynamic_resources.attempt import Attempt, Device
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative
from pilotage.plugins.devices.dynamic_resources.meter import Paused
from pilotage.plugins.devices.dynamic_resources.node_states import Pools
from pilotage.plugins.devices.dynamic_resources.outcomes import RequestReasons
from pilotage.plugins.devices.dynamic_resources.plans import Plan


def reasons_of(plan: Plan, claims: Sequence[ResourceClaim], pools: Pools) -> list[RequestReasons]:
    """Return the reasons for each alternative of each request, each as if it were the only one.

    As many as the plan's meter allows: expressions may take their time.
    """
    attempt = Attempt(plan, pools)
    found: list[RequestReasons] = []
    with suppress(Paused):
        for index, (claim, planned) in enumerate(zip(claims, plan.claims, strict=True)):
            name = f"{claim.metadata.namespace}/{claim.metadata.name}"
            for request in planned.requests:
                found.extend(_reasons(attempt, index, name, each) for each in request.alternatives)
    return found


def _reasons(attempt: Attempt, index: int, claim: str, alternative: Alternative) -> RequestReasons:
    found = Counter(_judged(attempt, index, alternative, device) for device in _devices(attempt))
    exist = found.total()
    return RequestReasons(
        claim=claim,
        request=alternative.name,
        wanted=0 if alternative.takes_all else alternative.count,
        exist=exist,
        match=exist - found["other"],
        taken=found["taken"],
        tainted=found["tainted"],
        too_small=found["too small"],
        selector=_last_selector(attempt, alternative),
    )


def _devices(attempt: Attempt) -> Iterator[Device]:
    for index in attempt.usable:
        shape = attempt.pools[index].shape
        yield from (Device(index, place) for place in range(shape.size) if shape.here >> place & 1)


def _judged(attempt: Attempt, claim: int, alternative: Alternative, device: Device) -> str:
    state, bit = attempt.pools[device.pool], 1 << device.place
    verdict = attempt.plan.choices[alternative.number].verdict(state.shape.kinds[device.place])
    if not verdict.selected:
        return "other"
    if not attempt.free(claim, alternative, device.pool) & bit:
        return "taken"
    if verdict.tainted:
        return "tainted"
    if verdict.consumed is None:
        return "too small"
    return "usable" if attempt.has_room(device, verdict.consumed) else "taken"


def _last_selector(attempt: Attempt, alternative: Alternative) -> str:
    """Return the first selector after which no device is left; "" if there is none."""
    choices = attempt.plan.choices[alternative.number]
    passed = [choices.passed(attempt.pools[each.pool].shape.kinds[each.place]) for each in _devices(attempt)]
    texts = (*alternative.class_selectors, *alternative.selectors)
    most = max(passed, default=len(texts))
    return (texts[most] or "") if most < len(texts) else ""
