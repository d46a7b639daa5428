"""Says why the devices of a node are not enough for a pod's claims."""

from collections.abc import Iterator, Mapping

from pilotage.framework.api.nodes import NodeInfo
from pilotage.plugins.devices.dynamic_resources.device_cycle import DeviceCycle, SettledClaim
from pilotage.plugins.devices.dynamic_resources.extended_search import ExtendedSearch
from pilotage.plugins.devices.dynamic_resources.outcomes import RequestReasons

MOST_REQUESTS = 4  # that a remark is about
NOT_TOGETHER = "enough for each request alone, not for all together"


def remark_of(state: DeviceCycle, node: NodeInfo) -> str:
    """Return a short explanation for people."""
    if state.leftover is not None:
        return f"{state.leftover.metadata.name} of an earlier attempt is deleted first"
    away = [_elsewhere(each) for each in state.settled if not each.is_usable_on(node)]
    if away or state.ask is None:
        return "; ".join(away)
    if isinstance(state.ask, ExtendedSearch) and (lacking := state.ask.lacking(node.node)):
        return f"no class and no device plugin serves {', '.join(lacking)}"
    names = _resources(state, node)
    short = [reasons for reasons in reasons_on(state, node) if usable(reasons) < max(1, reasons.wanted)]
    more = len(short) - MOST_REQUESTS
    told = [_told(each, names) for each in short[:MOST_REQUESTS]]
    return "; ".join([*told, f"and {more} more"] if more > 0 else told or [NOT_TOGETHER])


def reasons_on(state: DeviceCycle, node: NodeInfo) -> list[RequestReasons]:
    """Return what each request finds on a node."""
    ask = state.ask.ask(node.node) if isinstance(state.ask, ExtendedSearch) else state.ask
    return [] if ask is None else ask.explain(node.node)


def usable(reasons: RequestReasons) -> int:
    """Return how many devices a request alone could get; none if it wants all and some are not usable."""
    away = reasons.taken + reasons.tainted + reasons.too_small
    return 0 if away and not reasons.wanted else reasons.match - away


def _resources(state: DeviceCycle, node: NodeInfo) -> Mapping[str, str]:
    """Return the extended resources by the requests of the special claim."""
    mappings = state.ask.mappings(node.node) if isinstance(state.ask, ExtendedSearch) else ()
    return {each.request: each.resource for each in mappings}


def _elsewhere(settled: SettledClaim) -> str:
    held = ", ".join(f"{each.pool}/{each.device}" for each in settled.allocation.devices.results)
    return f"{settled.claim.metadata.name} has {held or 'no devices'}"


def _told(reasons: RequestReasons, resources: Mapping[str, str]) -> str:
    wanted = f"{resources.get(reasons.request, reasons.request)} wants {reasons.wanted or 'all'}"
    if not reasons.exist:
        return f"{wanted}, no devices are there"
    if not reasons.match:
        return f"{wanted}, none of {_devices(reasons.exist)} matches {reasons.selector or 'its class'}"
    return f"{wanted} of {_devices(reasons.exist)}: {', '.join(_parts(reasons))}"


def _devices(number: int) -> str:
    return "1 device" if number == 1 else f"{number} devices"


def _parts(reasons: RequestReasons) -> Iterator[str]:
    for number, word in (
        (reasons.exist - reasons.match, "not selected"),
        (reasons.taken, "taken"),
        (reasons.tainted, "tainted"),
        (reasons.too_small, "too small"),
    ):
        if number:
            yield f"{number} {word}"
    if reasons.wanted > reasons.match == reasons.exist:
        yield "too few"
