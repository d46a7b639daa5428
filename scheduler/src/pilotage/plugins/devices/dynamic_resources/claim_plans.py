"""What claims ask for, prepared for the search; claims with equal requests share a plan."""

from collections.abc import Callable, Sequence

from msgspec import Struct, msgpack

from pilotage.kinds.devices import (
    ALL,
    EXACT_COUNT,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ExactRequest,
    ResourceClaim,
)
from pilotage.model.quantity import InvalidQuantity, Quantity, parse
from pilotage.plugins.devices.dynamic_resources.outcomes import Failure, Part, What

Classes = Callable[[str], DeviceClass | None]
PlanKey = tuple[tuple[bytes, tuple[tuple[str, ...] | None, ...]], ...]

_encode = msgpack.Encoder(order="deterministic").encode


class Alternative(Struct, eq=False):
    """One way to satisfy a request: a number of devices of a class."""

    number: int  # among all alternatives of the plan
    name: str  # request, or request/alternative
    label: str  # in messages
    device_class: str
    class_selectors: tuple[str | None, ...] = ()
    selectors: tuple[str | None, ...] = ()
    takes_all: bool = False
    count: int = 0
    is_admin: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: dict[str, Quantity] = {}
    constraints: tuple[int, ...] = ()  # of its claim
    refusal: Failure | None = None


class Request(Struct, eq=False):
    """A request of a claim, with its alternatives; a request without a list has one."""

    name: str
    alternatives: tuple[Alternative, ...]
    has_list: bool
    refusal: Failure | None = None


class Constraint(Struct, frozen=True):
    """An attribute that is equal or distinct on all devices of some requests."""

    attribute: str
    is_match: bool


class ClaimPlan(Struct, eq=False):
    """The requests and constraints of a claim."""

    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...]
    refusal: Failure | None = None  # of a constraint


def plan_key(claims: Sequence[ResourceClaim], classes: Classes) -> PlanKey:
    """Return what is equal for claims that ask for the same."""
    return tuple(
        (_encode((c.spec.devices.requests, c.spec.devices.constraints)), _class_keys(c, classes)) for c in claims
    )


def _class_keys(claim: ResourceClaim, classes: Classes) -> tuple[tuple[str, ...] | None, ...]:
    keys = []
    for request in claim.spec.devices.requests:
        for each in _ways(request):
            found = classes(each.device_class_name)
            keys.append(
                None if found is None else tuple(s.cel.expression if s.cel else "" for s in found.spec.selectors)
            )
    return tuple(keys)


def _ways(request: DeviceRequest) -> tuple[ExactRequest, ...]:
    return request.first_available or (() if request.exactly is None else (request.exactly,))


class Planner:
    """Prepares the claims of a pod."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._count = 0

    def plan(self, claims: Sequence[ResourceClaim]) -> tuple[ClaimPlan, ...]:
        """Return the plans of the claims."""
        return tuple(self._claim(index, claim) for index, claim in enumerate(claims))

    def _claim(self, index: int, claim: ResourceClaim) -> ClaimPlan:
        spec = claim.spec.devices
        requests = tuple(self._request(index, request, spec.constraints) for request in spec.requests)
        refusal = None
        for number, constraint in enumerate(spec.constraints):
            if constraint.match_attribute is None and constraint.distinct_attribute is None:
                text = f", constraint #{number}: empty constraint (unsupported constraint type?)"
                refusal = Failure(("claim ", (What.CLAIM, index), text))
                break
        return ClaimPlan(requests, tuple(map(_constraint, spec.constraints)), refusal)

    def _request(self, claim: int, request: DeviceRequest, constraints: Sequence[DeviceConstraint]) -> Request:
        if request.first_available:
            ways = tuple(
                self._alternative(claim, each, f"{request.name}/{each.name}", each.name, request.name, constraints)
                for each in request.first_available
            )
            return Request(request.name, ways, has_list=True)
        if request.exactly is None:
            refusal = Failure((*named(claim, request.name), "unknown request type"))
            return Request(request.name, (), has_list=False, refusal=refusal)
        way = self._alternative(claim, request.exactly, request.name, request.name, request.name, constraints)
        return Request(request.name, (way,), has_list=False)

    def _alternative(
        self,
        claim: int,
        asked: ExactRequest,
        name: str,
        label: str,
        request: str,
        constraints: Sequence[DeviceConstraint],
    ) -> Alternative:
        found = self._classes(asked.device_class_name)
        number, self._count = self._count, self._count + 1
        try:
            amounts = {key: parse(amount) for key, amount in asked.capacity.requests.items()} if asked.capacity else {}
            refusal = _refusal(claim, asked, label, found)
        except InvalidQuantity as wrong:
            amounts, refusal = {}, Failure((*named(claim, label), str(wrong)))
        return Alternative(
            number,
            name,
            label,
            asked.device_class_name,
            _expressions(found.spec.selectors) if found else (),
            _expressions(asked.selectors),
            asked.allocation_mode == ALL,
            asked.count or 1,  # the API server's default, which a file may leave out
            bool(asked.admin_access),
            asked.tolerations,
            amounts,
            tuple(
                i for i, c in enumerate(constraints) if not c.requests or name in c.requests or request in c.requests
            ),
            refusal,
        )


def named(claim: int, label: str) -> tuple[Part, ...]:
    """Return how messages begin that concern a request."""
    return "claim ", (What.CLAIM, claim), f", request {label}: "


def _refusal(claim: int, asked: ExactRequest, label: str, found: DeviceClass | None) -> Failure | None:
    """Return why a request cannot be searched for; whatever is not known here must not be ignored."""
    for number, selector in enumerate(asked.selectors):
        if selector.cel is None:
            text = f", request {label}, selector #{number}: CEL expression empty (unsupported selector type?)"
            return Failure(("claim ", (What.CLAIM, claim), text))
    if asked.derived_attributes:
        text = "cannot handle request with derived attributes, the feature is disabled"
    elif not asked.device_class_name:
        text = "missing device class name (unsupported request type?)"
    elif found is None:
        name = asked.device_class_name
        text = f'could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
    elif asked.allocation_mode not in (EXACT_COUNT, ALL):
        text = f"unsupported count mode {asked.allocation_mode}"
    else:
        return None
    return Failure((*named(claim, label), text))


def _expressions(selectors: Sequence[DeviceSelector]) -> tuple[str | None, ...]:
    return tuple(None if selector.cel is None else selector.cel.expression for selector in selectors)


def _constraint(given: DeviceConstraint) -> Constraint:
    if given.match_attribute is not None:
        return Constraint(given.match_attribute, is_match=True)
    return Constraint(given.distinct_attribute or "", is_match=False)
