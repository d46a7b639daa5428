"""What helps a pod whose claims find no devices: fewer of them, a toleration, or a class that is missing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from msgspec import structs

from pilotage.framework.api.lower_requests import ask_for_less
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.remedies import Change, Difference, Remedy, Value
from pilotage.kinds.devices import (
    DeviceClass,
    DeviceSubrequest,
    DeviceTaint,
    DeviceToleration,
    ExactRequest,
    ResourceClaim,
)
from pilotage.model.pod import Pod
from pilotage.model.tolerations import NO_EXECUTE, NO_SCHEDULE
from pilotage.plugins.devices.dynamic_resources.device_cycle import DeviceCycle
from pilotage.plugins.devices.dynamic_resources.device_remarks import reasons_on, usable
from pilotage.plugins.devices.dynamic_resources.extended_search import ExtendedSearch
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory
from pilotage.plugins.devices.dynamic_resources.outcomes import RequestReasons
from pilotage.plugins.devices.dynamic_resources.pod_claims import key_of

MOST_NODES = 16  # that are looked at
MOST_CLAIMS = 8
MOST_TAINTS = 3  # to tolerate


class Way(NamedTuple):
    """A request of a claim, or one of its alternatives."""

    claim: ResourceClaim
    place: int
    alternative: int | None
    name: str  # gpu, or gpu/small
    asked: ExactRequest

    @property
    def path(self) -> str:
        """Return where the claim has it."""
        part = "exactly" if self.alternative is None else f"firstAvailable[{self.alternative}]"
        return f"spec.devices.requests[{self.place}].{part}"

    def asking(self, **changes: Any) -> ResourceClaim:
        """Return the claim with other values here."""
        requests = list(self.claim.spec.devices.requests)
        request = requests[self.place]
        changed = structs.replace(self.asked, **changes)
        if isinstance(changed, DeviceSubrequest):
            ways = (changed if i == self.alternative else each for i, each in enumerate(request.first_available))
            requests[self.place] = structs.replace(request, first_available=tuple(ways))
        else:
            requests[self.place] = structs.replace(request, exactly=changed)
        devices = structs.replace(self.claim.spec.devices, requests=tuple(requests))
        return structs.replace(self.claim, spec=structs.replace(self.claim.spec, devices=devices))


def missing_classes(claims: Sequence[ResourceClaim], objects: Objects) -> Iterator[Remedy]:
    """Yield what helps where a claim names a class that does not exist."""
    known = {each.metadata.name for each in objects.all(DeviceClass)}
    for way in _ways(each for each in claims[:MOST_CLAIMS] if each.status.allocation is None):
        name = way.asked.device_class_name
        if name in known:
            continue
        for similar in get_close_matches(name, sorted(known), n=1):
            yield _changed(
                "useDeviceClass",
                "name the device class {to} instead of {from} in request {request} of {claim}",
                way,
                way.asking(device_class_name=similar),
                Change(f"{way.path}.deviceClassName", name, similar),
            )
        yield Remedy(
            code="createDeviceClass",
            actor="admin",
            words="create the device class {class}",
            values={"class": name},
            untried="it decides itself which devices it selects",
        )


def fewer_devices(state: DeviceCycle, pod: Pod, nodes: Nodes, inventory: Inventory) -> Iterator[Remedy]:
    """Yield what helps where there are devices, but not enough that the pod can use."""
    infos = [nodes[place] for place in range(min(len(nodes), MOST_NODES))]
    found = [(info, reasons) for info in infos for reasons in reasons_on(state, info)]
    for way in _ways(state.searched[:MOST_CLAIMS]):
        about = [each for _, each in found if (each.claim, each.request) == (key_of(way.claim), way.name)]
        most, count = max(map(usable, about), default=0), way.asked.count
        if 0 < most < count:
            yield _changed(
                "askForFewerDevices",
                "ask for {to} instead of {from} devices in request {request} of {claim}",
                way,
                way.asking(count=most),
                Change(f"{way.path}.count", count, most),
            )
        if any(each.tainted for each in about):
            yield from _tolerating(way, _taints(infos, inventory))
    if isinstance(state.ask, ExtendedSearch):
        yield from _smaller(state.ask, pod, found)


def _smaller(search: ExtendedSearch, pod: Pod, found: Iterable[tuple[NodeInfo, RequestReasons]]) -> Iterator[Remedy]:
    """Yield smaller requests of extended resources."""
    most: dict[str, int] = {}
    for info, reasons in found:
        for resource in {each.resource for each in search.mappings(info.node) if each.request == reasons.request}:
            most[resource] = max(most.get(resource, 0), usable(reasons))
    for resource, number in most.items():
        if 0 < number < pod.requests.get(resource, 0) and (remedy := ask_for_less(pod, {resource: number})) is not None:
            yield remedy


def _tolerating(way: Way, taints: Iterable[DeviceTaint]) -> Iterator[Remedy]:
    for taint in taints:
        toleration = DeviceToleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        told = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        yield _changed(
            "tolerateDeviceTaint",
            "tolerate the device taint {to} in request {request} of {claim}",
            way,
            way.asking(tolerations=(*way.asked.tolerations, toleration)),
            Change(f"{way.path}.tolerations", None, told),
        )


def _taints(infos: Iterable[NodeInfo], inventory: Inventory) -> list[DeviceTaint]:
    """Return the taints of the devices on some nodes, the most frequent first."""
    found: Counter[DeviceTaint] = Counter()
    for info in infos:
        for view in inventory.view(info.node).in_order():
            for taint in (taint for kind in view.shape.kinds for taint in kind.taints):
                if taint.effect in (NO_SCHEDULE, NO_EXECUTE):
                    found[structs.replace(taint, time_added=None)] += 1
    return [taint for taint, _ in found.most_common(MOST_TAINTS)]


def _ways(claims: Iterable[ResourceClaim]) -> Iterator[Way]:
    for claim in claims:
        for place, request in enumerate(claim.spec.devices.requests):
            if request.exactly is not None:
                yield Way(claim, place, None, request.name, request.exactly)
            for number, each in enumerate(request.first_available):
                yield Way(claim, place, number, f"{request.name}/{each.name}", each)


def _changed(code: str, words: str, way: Way, changed: ResourceClaim, change: Change) -> Remedy:
    """Return the remedy of another request; a claim cannot be changed, so its owner creates it again."""
    values: dict[str, Value] = {"claim": key_of(way.claim), "request": way.name, "to": change.to or 0}
    if change.from_ is not None:
        values["from"] = change.from_
    return Remedy(
        code=code,
        actor="owner",
        words=words,
        values=values,
        changes=(change,),
        difference=Difference(objects=(changed,)),
    )
