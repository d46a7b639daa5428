"""Remedies on generated clusters: each that is shown places the pod, and a little less would not do."""

import copy
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from kit.remedy_storage_scenes import ONCE, SHARED, USES_DATA, claim, storage_class, volume, zonal
from kit.remedy_world import Manifest, RemedyWorld
from pilotage.framework.api.remedies import Remedy
from pilotage.model.quantity import parse
from pilotage.testing import node_manifest, pod_manifest

ZONE = "topology.kubernetes.io/zone"
FEW, MANY = 25, 5000

TAINTS = [
    {"key": "team", "value": "b", "effect": "NoSchedule"},
    {"key": "gpu", "effect": "NoExecute"},
    {"key": "soft", "effect": "PreferNoSchedule"},
]
APPS = ["web", "db"]


@st.composite
def nodes(draw: st.DrawFn) -> list[Manifest]:
    found = []
    for place in range(draw(st.integers(1, 5))):
        labels = {ZONE: draw(st.sampled_from("ab"))} | draw(st.sampled_from([{}, {"disk": "ssd"}, {"disk": "hdd"}]))
        found.append(
            node_manifest(
                f"n{place}",
                fake=False,
                cpu=f"{draw(st.integers(500, 5000))}m",
                memory=draw(st.integers(1 << 20, 1 << 33)),
                pods=draw(st.sampled_from([1, 2, 110])),
                labels=labels,
                taints=draw(st.lists(st.sampled_from(TAINTS), max_size=2, unique_by=str)),
                unschedulable=draw(st.booleans()) and draw(st.booleans()),
            )
        )
    return found


def shunning(app: str, key: str) -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@st.composite
def pods(draw: st.DrawFn, name: str, node: str | None, most_cpu: int) -> Manifest:
    fields: dict[str, Any] = {"labels": {"app": draw(st.sampled_from(APPS))}, "node": node}
    if draw(st.booleans()):
        fields["cpu"] = f"{draw(st.integers(1, most_cpu))}m"
    if draw(st.booleans()):
        fields["memory"] = draw(st.integers(1, 1 << 32))
    if draw(st.integers(0, 3)) == 0:
        fields["host_ports"] = [draw(st.sampled_from([80, 81]))]
    if draw(st.integers(0, 3)) == 0:
        fields["affinity"] = shunning(
            draw(st.sampled_from(APPS)), draw(st.sampled_from([ZONE, "kubernetes.io/hostname"]))
        )
    if draw(st.integers(0, 3)) == 0:
        fields["sidecars"] = [{"cpu": f"{draw(st.integers(1, 2000))}m"}]
    found = pod_manifest(name, **fields)
    found["spec"]["priority"] = draw(st.sampled_from([0, 10]))
    return found


@st.composite
def storage(draw: st.DrawFn) -> list[Manifest]:
    """A claim `data` of the waiting pod, and volumes: bound, waiting for the pod, or not there at all."""
    kind = draw(st.sampled_from(["zone", "label", "local", "none"]))
    zone = draw(st.sampled_from("abc"))
    if kind in ("zone", "label"):
        one = volume(within={ZONE: zone}) if kind == "zone" else zonal(volume(), zone)
        return [one, claim(bound_to="pv")]
    found = [storage_class("local"), claim(size=f"{draw(st.integers(1, 9))}Gi", of_class="local")]
    for place in range(draw(st.integers(0, 3)) if kind == "local" else 0):
        size, modes = f"{draw(st.integers(1, 9))}Gi", [draw(st.sampled_from([ONCE, SHARED]))]
        within = draw(st.sampled_from([None, {ZONE: zone}]))
        found.append(volume(f"pv-{place}", size, within, storageClassName="local", accessModes=modes))
    return found


@st.composite
def clusters(draw: st.DrawFn) -> list[Manifest]:
    found = draw(nodes())
    placed = [
        draw(pods(f"p{place}", f"n{draw(st.integers(0, len(found) - 1))}", 1500))
        for place in range(draw(st.integers(0, 6)))
    ]
    web = draw(pods("web", None, 6000))
    spec = web["spec"]
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"disk": draw(st.sampled_from(["ssd", "nvme"]))}
    if draw(st.integers(0, 2)) == 0:
        spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [spread | {"labelSelector": {"matchLabels": {"app": "web"}}}]
    stored = []
    if draw(st.integers(0, 2)) == 0:
        stored = draw(storage())
        spec |= USES_DATA
    return [*found, *placed, *stored, web]


def check(cluster: list[Manifest]) -> None:
    world = RemedyWorld(*cluster)
    result, found = world.explain("web")
    if result.node is not None or found is None:
        event("fits")
        return
    event(f"{len(found.remedies)} remedies")
    for remedy in found.remedies:
        event(remedy.code)
        assert remedy.verified == (not remedy.untried)
        if remedy.code == "satisfyPlugin" or remedy.untried:
            continue  # how is not known
        changed = RemedyWorld(*cluster)
        changed.apply(remedy, "web")
        after = changed.explain("web")[0]
        assert after.node is not None, remedy.text
        assert not after.victims, remedy.text
        if remedy.code == "reduceRequest":
            not_enough(cluster, remedy)
        if remedy.code == "smallerClaim":
            not_a_larger_claim(cluster, remedy)


def not_enough(cluster: list[Manifest], remedy: Remedy) -> None:
    """Ask for one unit more than the remedy says: the pod fits nowhere."""
    patch: Any = copy.deepcopy(remedy.patch)
    change = remedy.changes[0]
    found = re.fullmatch(r"spec\.(\w+)\[(\d+)\]\.resources\.requests\.(.+)", change.path)
    assert found is not None
    containers, place, name = found.groups()
    changed = cluster[-1]["spec"][containers][int(place)]["name"]
    more = f"{int(str(change.to)) + 1}{change.unit}"
    for container in patch["spec"][containers]:
        if container["name"] == changed:
            container["resources"]["requests"][name] = more
    world = RemedyWorld(*cluster)
    world.apply(Remedy(**{**_fields(remedy), "patch": patch}), "web")
    result = world.explain("web")[0]
    assert result.node is None or result.victims, f"{remedy.text}; but {more} does it, too"


def not_a_larger_claim(cluster: list[Manifest], remedy: Remedy) -> None:
    """Ask for a byte more than the remedy says: no volume is that large."""
    patch: Any = copy.deepcopy(remedy.patch)
    requests = patch["spec"]["resources"]["requests"]
    requests["storage"] = str(parse(requests["storage"]).value() + 1)
    world = RemedyWorld(*cluster)
    world.apply(Remedy(**{**_fields(remedy), "patch": patch}), "web")
    result = world.explain("web")[0]
    assert result.node is None or result.victims, remedy.text


def _fields(remedy: Remedy) -> dict[str, Any]:
    return {name: getattr(remedy, name) for name in Remedy.__dataclass_fields__}


@given(clusters())
@settings(max_examples=FEW, deadline=None, suppress_health_check=list(HealthCheck))
def test_remedies_place_the_pod(cluster: list[Manifest]) -> None:
    check(cluster)


@pytest.mark.full
@pytest.mark.timeout(3600)
@given(clusters())
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
def test_remedies_place_the_pod_in_many_clusters(cluster: list[Manifest]) -> None:
    check(cluster)
