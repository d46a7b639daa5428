"""Elastic quota accounting: the usage of pods, the quotas that apply to them, and exceeded bounds.

Both the scheduler, for its decisions, and the operator, for the status, use this module.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from pilotage.kinds.elastic_quota import PRIORITY_CLASSES, ElasticQuota
from pilotage.kinds.workloads import Namespace
from pilotage.model.label_syntax import PREFIX_RULE, SUBDOMAIN, complaints
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Amounts
from pilotage.model.quantity import Form, InvalidQuantity, from_milli_value, from_value
from pilotage.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Requests, counted
from pilotage.model.selectors import InvalidSelector, compile_label_selector

NEVER_MADE = "~"  # sorts after all times: quotas from files have no creation timestamp


class Excess(NamedTuple):
    """A resource whose usage would exceed a bound."""

    resource: str
    amount: int
    bound: int


class Cohort(NamedTuple):
    """The pods of a namespace and a priority class; "" stands for no class, and for all classes that no quota names."""

    namespace: str
    priority_class: str = ""

    @classmethod
    def of(cls, pod: Pod) -> "Cohort":
        """Return the cohort of a pod."""
        return cls(pod.namespace, pod.spec.priority_class_name)


class Contest(NamedTuple):
    """Pods that a quota selects, and the older quota that applies to them."""

    claimed: Cohort
    winner: str  # namespace/name


@dataclass(frozen=True)
class Quota:
    """The bounds of an elastic quota; other resources are not limited."""

    namespace: str
    name: str
    min: Requests  # guaranteed; nothing of a missing resource
    max: Requests  # a missing resource has no limit
    faults: tuple[str, ...] = ()  # invalid fields, which are ignored
    priority_classes: tuple[str, ...] | None = None  # the only classes that it applies to; None for all

    @cached_property
    def key(self) -> str:
        """Return namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        """Return its name in messages: its namespace, as in the original, if that is unique."""
        return self.namespace if self.priority_classes is None else self.key

    @cached_property
    def named(self) -> frozenset[str]:
        """Return the resources with bounds."""
        return frozenset((*self.min, *self.max))

    def of(self, request: Mapping[str, int]) -> Requests:
        """Return the part of a request that has bounds."""
        return {resource: amount for resource, amount in request.items() if resource in self.named}

    def borrows(self, used: Mapping[str, int], resource: str) -> bool:
        """Return whether the usage of a resource exceeds the guarantee."""
        return resource in self.named and used.get(resource, 0) > self.min.get(resource, 0)

    def contradictions(self) -> list[Excess]:
        """Return the resources whose min exceeds their max."""
        return [
            Excess(name, self.min[name], self.max[name])
            for name in sorted(self.min.keys() & self.max.keys())
            if self.min[name] > self.max[name]
        ]


def counts_as(pod: Pod) -> Requests:
    """Return the usage of a pod, with sidecars, overhead and pod-level requests, including one pod."""
    return pod.usage | {PODS: 1}


def is_charged(pod: Pod) -> bool:
    """Return whether a pod is charged: it has a node and has not finished."""
    return bool(pod.node_name) and not pod.is_finished


def beyond(request: Mapping[str, int], used: Mapping[str, int], bounds: Mapping[str, int]) -> list[Excess]:
    """Return the resources for which a request exceeds the remaining amounts; those without bounds are left out."""
    totals = ((name, used.get(name, 0) + amount) for name, amount in request.items() if amount > 0 and name in bounds)
    return [Excess(name, total, bounds[name]) for name, total in totals if total > bounds[name]]


def told(excesses: Iterable[Excess], with_pod: str, bound: str) -> str:
    """Return a line such as: cpu: 7 used with this pod, 6 allowed."""
    return "; ".join(
        f"{name}: {quantity_text(name, amount)} {with_pod}, {quantity_text(name, limit)} {bound}"
        for name, amount, limit in excesses
    )


def quantity_text(resource: str, amount: int) -> str:
    """Return an amount in the usual notation: 1500m, 4Gi, 3."""
    if resource == CPU:
        return str(from_milli_value(amount))
    in_bytes = resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-")
    return str(from_value(amount, Form.BINARY if in_bytes else Form.DECIMAL))


def read_quota(given: ElasticQuota) -> Quota:
    """Return the bounds of a quota; invalid fields are reported and ignored."""
    faults: list[str] = []
    least = {name: max(0, amount) for name, amount in _readable(given.spec.min, "min", faults).items()}
    most = _readable(given.spec.max, "max", faults)
    if given.spec.namespace_selector is not None:
        try:
            compile_label_selector(given.spec.namespace_selector)
        except InvalidSelector as error:
            faults.append(f"spec.namespaceSelector: {error}")
    classes = _classes(given.priority_classes, faults)
    metadata = given.metadata
    return Quota(metadata.namespace or "default", metadata.name, least, most, tuple(faults), classes)


def _classes(written: str | None, faults: list[str]) -> tuple[str, ...] | None:
    """Return the named priority classes; a quota with invalid names does not become one for all pods."""
    if written is None:
        return None
    found: dict[str, None] = {}  # each once, in this order
    for name in (each.strip() for each in written.split(",")):
        if complaints(name, 253, SUBDOMAIN, PREFIX_RULE):
            told_name = f"'{name:.80}' is not the name of a priority class: write them like high,urgent"
            faults.append(f"metadata.annotations.{PRIORITY_CLASSES}: {told_name}")
        else:
            found[name] = None
    return tuple(found)


def _readable(amounts: Amounts | None, where: str, faults: list[str]) -> Requests:
    found: Requests = {}
    for name, amount in (amounts or {}).items():
        try:
            known = counted({name: amount})
        except InvalidQuantity as error:
            faults.append(f"spec.{where}.{name}: {error}")
            continue
        if not known:
            faults.append(f"spec.{where}.{name}: pods cannot request such a resource")
        found |= known
    return found


@dataclass(frozen=True)
class QuotaTable:
    """Maps pods to quotas."""

    serving: Mapping[Cohort, Quota] = field(default_factory=dict)
    quotas: tuple[Quota, ...] = ()  # all of them, the oldest first
    contests: Mapping[str, tuple[Contest, ...]] = field(default_factory=dict)  # by the quota that lost, namespace/name

    def quota_of(self, cohort: Cohort) -> Quota | None:
        """Return the quota of a cohort: one that names its class, otherwise one without classes."""
        return self.serving.get(cohort) or self.serving.get(Cohort(cohort.namespace))

    @cached_property
    def in_force(self) -> dict[str, frozenset[str]]:
        """Return the namespaces of every quota in use, by namespace/name."""
        found: dict[str, set[str]] = {}
        for cohort, quota in self.serving.items():
            found.setdefault(quota.key, set()).add(cohort.namespace)
        return {key: frozenset(namespaces) for key, namespaces in found.items()}


def table_of(given: Iterable[ElasticQuota], namespaces: Iterable[Namespace]) -> QuotaTable:
    """Determine which quota applies to which pods: the oldest one, if several select the same pods."""
    labels = {each.metadata.name: each.metadata.labels for each in namespaces}
    serving: dict[Cohort, Quota] = {}
    quotas, contests = [], {}
    for each in sorted(given, key=_age):
        quota = read_quota(each)
        quotas.append(quota)
        claimed = _claims(each, quota, labels)
        contests[quota.key] = tuple(Contest(each, serving[each].key) for each in claimed if each in serving)
        for cohort in claimed:
            serving.setdefault(cohort, quota)
    return QuotaTable(serving, tuple(quotas), {key: lost for key, lost in contests.items() if lost})


def _age(given: ElasticQuota) -> tuple[str, str, str]:
    metadata = given.metadata
    return metadata.creation_timestamp or NEVER_MADE, metadata.namespace, metadata.name


def _claims(given: ElasticQuota, quota: Quota, labels: Mapping[str, Mapping[str, str]]) -> list[Cohort]:
    """Return the cohorts that a quota selects: its namespaces, with the classes that it names."""
    classes = ("",) if quota.priority_classes is None else quota.priority_classes
    return [Cohort(namespace, name) for namespace in _namespaces(given, quota, labels) for name in classes]


def _namespaces(given: ElasticQuota, quota: Quota, labels: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return its own namespace, and those that its selector matches."""
    if given.spec.namespace_selector is None:
        return [quota.namespace]
    try:
        matcher = compile_label_selector(given.spec.namespace_selector)
    except InvalidSelector:
        return [quota.namespace]
    matching = {name for name, of_namespace in labels.items() if matcher.matches(of_namespace)}
    return sorted(matching | {quota.namespace})


class QuotaLedger:
    """The usage by cohort, by quota and in total; pods change one by one, quotas all at once."""

    def __init__(self) -> None:
        self.table = QuotaTable()
        self._by_cohort: dict[Cohort, Requests] = {}
        self._by_quota: dict[str, Requests] = {}
        self.used_in_all: Requests = {}
        self.guaranteed_in_all: Requests = {}  # for every resource that any quota guarantees

    def place(self, pod: Pod) -> None:
        """Add a pod."""
        self._count(pod, 1)

    def take_away(self, pod: Pod) -> None:
        """Remove a pod, given as it was added."""
        self._count(pod, -1)

    def settle(self, table: QuotaTable) -> None:
        """Recount everything with new quotas, including pods that are older than the quotas."""
        self.table = table
        in_force = {quota.key: quota for quota in table.serving.values()}
        self._by_quota = {key: {} for key in in_force}
        self.used_in_all, self.guaranteed_in_all = {}, {}
        for quota in in_force.values():
            for resource, amount in quota.min.items():
                self.guaranteed_in_all[resource] = self.guaranteed_in_all.get(resource, 0) + amount
        for cohort, used in self._by_cohort.items():
            self._charge(cohort, used, 1)

    def quota_of(self, pod: Pod) -> Quota | None:
        """Return the quota of a pod."""
        return self.table.quota_of(Cohort.of(pod))

    def used(self, quota: Quota) -> Requests:
        """Return the usage of a quota's pods for the resources that it names."""
        return self._by_quota.get(quota.key, {})

    def _count(self, pod: Pod, sign: int) -> None:
        if not is_charged(pod):
            return
        cohort, amounts = Cohort.of(pod), counts_as(pod)
        used = self._by_cohort.setdefault(cohort, {})
        add(used, amounts, sign)
        if not used:
            del self._by_cohort[cohort]
        self._charge(cohort, amounts, sign)

    def _charge(self, cohort: Cohort, amounts: Mapping[str, int], sign: int) -> None:
        quota = self.table.quota_of(cohort)
        if quota is not None:
            counted_ones = quota.of(amounts)
            add(self._by_quota[quota.key], counted_ones, sign)
            add(self.used_in_all, counted_ones, sign)


def add(account: Requests, amounts: Mapping[str, int], sign: int) -> None:
    """Add amounts to an account, or subtract them; entries of zero are removed."""
    for resource, amount in amounts.items():
        total = account.get(resource, 0) + sign * amount
        if total:
            account[resource] = total
        else:
            account.pop(resource, None)
