"""The request: one schema for files, flags and HTTP; unknown fields are refused."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import Field, StrictFloat, StrictInt, StrictStr

from pilotage.config.documents import DEEPEST
from pilotage.config.strict_reading import read_section
from pilotage.config.types import Section
from pilotage.model.pod import DEFAULT_SCHEDULER

KIND: Final = "WhatIf"
LARGEST_BODY = 1 << 20
MOST_COPIES = 10_000
USUAL_SECONDS, MOST_SECONDS = 5.0, 60.0

Ask = Literal["placements", "fill", "remedies", "evictions", "others"]
USUAL_ASKS: tuple[Ask, ...] = ("placements", "evictions", "others")

Name = Annotated[StrictStr, Field(max_length=253)]
Labels = dict[StrictStr, StrictStr]
Quantity = StrictStr | StrictInt | StrictFloat
Amounts = dict[StrictStr, Quantity]
Copies = Annotated[StrictInt, Field(ge=1)]


class WrongRequest(Exception):
    """A request that cannot be answered; the text says why and what to change, one line for each mistake."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Add(Section):
    """Manifests of new pods or their controllers, and how many copies of them."""

    manifests: list[dict[str, Any]] = Field(min_length=1)
    copies: Copies = 1


class AddPods(Section):
    """New pods without a manifest."""

    requests: Amounts = Field(default_factory=dict)
    limits: Amounts = Field(default_factory=dict)
    copies: Copies = 1
    name: Name = "pod"
    namespace: Name = "default"
    labels: Labels = Field(default_factory=dict)
    node_selector: Labels = Field(default_factory=dict)
    tolerations: list[dict[str, Any]] = Field(default_factory=list)
    priority_class_name: Name = ""
    scheduler_name: Name = ""


class TaintEntry(Section):
    """A taint."""

    key: StrictStr
    value: StrictStr = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class NodeTemplate(Section):
    """A kind of node that the cluster may not have yet."""

    labels: Labels = Field(default_factory=dict)
    taints: list[TaintEntry] = Field(default_factory=list)
    capacity: Amounts = Field(default_factory=dict)
    allocatable: Amounts = Field(default_factory=dict)


class AddNodes(Section):
    """New nodes: like an existing one, or from a template."""

    like: Name = ""
    template: NodeTemplate | None = None
    count: Annotated[StrictInt, Field(ge=1, le=MOST_COPIES)] = 1


class SomeNodes(Section):
    """Nodes by their names, or by a selector of labels such as pool=old."""

    nodes: list[Name] = Field(default_factory=list)
    selector: StrictStr = ""


class Label(SomeNodes):
    """Labels for nodes; null removes one."""

    labels: dict[StrictStr, StrictStr | None]


class Taint(SomeNodes):
    """Taints for nodes, and keys of taints to remove."""

    taints: list[TaintEntry] = Field(default_factory=list)
    remove: list[StrictStr] = Field(default_factory=list)


class Evict(Section):
    """Pods to evict, as namespace/name; they wait again if a controller replaces them."""

    pods: list[StrictStr] = Field(min_length=1)


class Quota(Section):
    """Other bounds of an elastic quota: +2 and -2 are relative, 2 is absolute."""

    namespace: Name
    name: Name = ""
    max: Amounts = Field(default_factory=dict)
    min: Amounts = Field(default_factory=dict)


class UseProfile(Section):
    """The profile that decides about new pods; with a spec, that profile as it would be."""

    name: Name
    spec: dict[str, Any] | None = None


class Change(Section):
    """One change; exactly one field is set."""

    add: Add | None = None
    add_pods: AddPods | None = None
    add_nodes: AddNodes | None = None
    drain: SomeNodes | None = None
    remove_nodes: SomeNodes | None = None
    cordon: SomeNodes | None = None
    label: Label | None = None
    taint: Taint | None = None
    evict: Evict | None = None
    quota: Quota | None = None
    use_profile: UseProfile | None = None

    @property
    def named(self) -> tuple[str, Section]:
        """Return the field that is set, with its name in files."""
        return next((field, value) for field, value in self.given())

    def given(self) -> Iterator[tuple[str, Section]]:
        """Yield all fields that are set."""
        for name, field in type(self).model_fields.items():
            if (value := getattr(self, name)) is not None:
                yield str(field.alias), value


class Limits(Section):
    """How long it may take, and how many pods it may be about."""

    seconds: Annotated[StrictFloat | StrictInt, Field(gt=0, le=MOST_SECONDS)] = USUAL_SECONDS
    copies: Annotated[StrictInt, Field(ge=1, le=MOST_COPIES)] = MOST_COPIES


class WhatIf(Section):
    """The whole request; changes happen in their order, and then the scheduler decides."""

    api_version: StrictStr = ""
    kind: Literal["WhatIf"] = KIND
    profile: StrictStr | dict[str, Any] | None = None
    changes: list[Change] = Field(default_factory=list)
    ask: list[Ask] = Field(default_factory=lambda: list(USUAL_ASKS))
    limits: Limits = Field(default_factory=Limits)

    def asks(self, wanted: Ask) -> bool:
        """Return whether the request asks for this."""
        return wanted in self.ask


class Needs(msgspec.Struct, frozen=True):
    """The rights that a user needs to get an answer."""

    nodes: bool  # list nodes
    profiles: bool  # get schedulerprofiles
    namespaces: frozenset[str]  # list pods there


def read_body(body: bytes) -> WhatIf:
    """Read the body of an HTTP request; WrongRequest says what is wrong with it."""
    if len(body) > LARGEST_BODY:
        size = f"the request has {len(body)} bytes, and at most {LARGEST_BODY} are allowed"
        raise WrongRequest(f"{size}; leave out manifests that are not about pods")
    try:
        return read(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError) as error:
        raise WrongRequest(f"the request is not JSON: {error}") from None


def read(given: Any) -> WhatIf:
    """Read a request from plain data; WrongRequest says what is wrong with it."""
    if not isinstance(given, dict):
        raise WrongRequest(f"a request is a map with kind: {KIND} and a list of changes")
    if _is_too_deep(given):
        raise WrongRequest(f"the request is nested more than {DEEPEST} levels deep; no manifest is")
    request, faults = read_section(WhatIf, given)
    problems = [f"{each.text}; {each.hint}" if each.hint else each.text for each in faults]
    if request is not None:
        problems += _problems(request)
    if request is None or problems:
        raise WrongRequest(*problems)
    return request


def _is_too_deep(given: Any) -> bool:
    """Return whether data is nested deeper than any manifest; level by level, because recursion could overflow."""
    level = [given]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def scheduler_names(request: WhatIf) -> set[str]:
    """Return the schedulerNames that new pods may have."""
    found = {DEFAULT_SCHEDULER}
    for change in request.changes:
        if change.add_pods is not None and change.add_pods.scheduler_name:
            found.add(change.add_pods.scheduler_name)
        if change.add is not None:
            found.update(_named_in(change.add.manifests))
    return found | ({request.profile} if isinstance(request.profile, str) else set())


def _named_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _named_in(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "schedulerName" and isinstance(each, str):
                yield each
            else:
                yield from _named_in(each)


def needs(request: WhatIf) -> Needs:
    """Return the rights that a user needs for this request."""
    changes = [name for change in request.changes for name, _ in change.given()]
    of_nodes = {"addNodes", "drain", "removeNodes", "cordon", "label", "taint"}
    named = request.profile is not None or "useProfile" in changes
    return Needs(not of_nodes.isdisjoint(changes), named, frozenset(_namespaces(request)))


def _namespaces(request: WhatIf) -> Iterator[str]:
    for change in request.changes:
        for manifest in change.add.manifests if change.add else ():
            metadata = manifest.get("metadata")
            yield str((metadata if isinstance(metadata, dict) else {}).get("namespace") or "default")
        if change.add_pods is not None:
            yield change.add_pods.namespace
        if change.quota is not None:
            yield change.quota.namespace
        for pod in change.evict.pods if change.evict else ():
            yield pod.rpartition("/")[0] or "default"


def _problems(request: WhatIf) -> Iterator[str]:
    for place, change in enumerate(request.changes):
        at, given = f"changes[{place}]", [name for name, _ in change.given()]
        if len(given) != 1:
            several = f"write {' and '.join(given)} as separate changes" if given else "name one, such as addNodes"
            yield f"{at}: a change has exactly one field; {several}"
            continue
        yield from _about(at, change)
    yield from _about_copies(request)


def _about(at: str, change: Change) -> Iterator[str]:
    name, what = change.named
    if isinstance(what, SomeNodes) and not what.nodes and not what.selector:
        yield f"{at}.{name}: name nodes, or a selector such as pool=old"
    if change.add_nodes is not None and bool(change.add_nodes.like) == (change.add_nodes.template is not None):
        yield f"{at}.addNodes: give either like, the name of a node, or a template"
    template = None if change.add_nodes is None else change.add_nodes.template
    if template is not None and not template.capacity and not template.allocatable:
        yield f"{at}.addNodes.template: give its capacity, such as cpu and memory"
    if change.taint is not None and not change.taint.taints and not change.taint.remove:
        yield f"{at}.taint: give taints to add, or keys to remove"
    if change.quota is not None and not change.quota.max and not change.quota.min:
        yield f"{at}.quota: give max or min"


def _about_copies(request: WhatIf) -> Iterator[str]:
    for place, change in enumerate(request.changes):
        for name, what in change.given():
            copies = what.copies if isinstance(what, Add | AddPods) else 0
            if copies > request.limits.copies:
                yield f"changes[{place}].{name}.copies: {too_many(copies, request.limits.copies)}"


def too_many(pods: int, most: int) -> str:
    """Return the message for a request about too many pods."""
    return f"{pods} are more than {most}; ask for fewer, or use `fill` (`pilotage capacity`) to find out how many fit"
