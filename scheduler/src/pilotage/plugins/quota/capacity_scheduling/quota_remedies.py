"""What would make room for a pod in a quota: a smaller pod, or a larger quota."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from pilotage.framework.api.lower_requests import ask_for_less
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.remedies import Change, Difference, Remedy, Target
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.quota_accounting import Excess, quantity_text
from pilotage.model.requests import CPU, PODS
from pilotage.plugins.quota.capacity_scheduling.quota_standing import QuotaStanding

Bound = Literal["min", "max"]


def quota_remedies(objects: Objects, standing: QuotaStanding) -> Iterator[Remedy]:
    """Yield the remedies for the bound that is reached: the quota's own max, or the sum of all min."""
    excess: Sequence[Excess] = standing.over_max or standing.over_total
    if not excess:
        return
    yield from _smaller(standing, excess)
    quota = standing.quota
    found = objects.get(ElasticQuota, quota.name, quota.namespace)
    if found is None:
        return
    if standing.over_max:
        yield _larger(found, "max", {each.resource: (quota.max[each.resource], each.amount) for each in excess})
        return
    more = {each.resource: each.amount - each.bound for each in excess}
    least = {name: (quota.min.get(name, 0), quota.min.get(name, 0) + amount) for name, amount in more.items()}
    if all(to <= quota.max.get(name, to) for name, (_, to) in least.items()):
        yield _larger(found, "min", least)


def _smaller(standing: QuotaStanding, excess: Sequence[Excess]) -> Iterator[Remedy]:
    pod = standing.pod
    most = {each.resource: pod.requests.get(each.resource, 0) - (each.amount - each.bound) for each in excess}
    if PODS in most:
        return  # a pod cannot count as less than one
    remedy = ask_for_less(pod, most)
    if remedy is not None:
        yield remedy


def _larger(found: ElasticQuota, bound: Bound, amounts: dict[str, tuple[int, int]]) -> Remedy:
    texts = {name: quantity_text(name, to) for name, (_, to) in amounts.items()}
    given = found.spec.max if bound == "max" else found.spec.min
    spec = msgspec.structs.replace(found.spec, **{bound: {**(given or {}), **texts}})
    metadata = found.metadata
    told = tuple(f"{name} {texts[name]} instead of {quantity_text(name, was)}" for name, (was, _) in amounts.items())
    return Remedy(
        code="raiseQuotaMax" if bound == "max" else "raiseQuotaMin",
        actor="admin",
        words="raise {bound} of the ElasticQuota {quota}: {amounts}",
        values={"bound": bound, "quota": f"{metadata.namespace}/{metadata.name}", "amounts": told},
        changes=tuple(
            Change(f"spec.{bound}.{name}", was, to, "m" if name == CPU else "") for name, (was, to) in amounts.items()
        ),
        size=max((to - was) / max(1, was) for was, to in amounts.values()),
        target=Target(ElasticQuota.api.name, metadata.name, metadata.namespace, "merge", ElasticQuota.api.group),
        patch={"spec": {bound: texts}},
        difference=Difference(objects=(msgspec.structs.replace(found, spec=spec),)),
    )
