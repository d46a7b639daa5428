"""Devices, claims for them, their classes and taint rules."""

from random import Random
from typing import Any

from hostile.pod_shapes import HOSTILE
from hostile.shapes import Shape
from pilotage.testing import Manifest, pod_manifest

DRIVER = "d.example.com"
EXTENDED = "example.com/device"
MOST_DEVICES, MOST_ATTRIBUTES, MOST_REQUESTS, MOST_ALTERNATIVES = 128, 32, 32, 8  # that the API allows
MOST_RESULTS = MOST_SELECTORS = 32
# It looks at a text again and again, by expressions that a naive engine would never finish.
COSTLY = " && ".join([f'device.driver.matches("(a*)*{i}") == false' for i in range(40)])


def _of_devices(kind: str, name: str, spec: Manifest, namespace: str = "") -> Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _class(name: str = "any", **fields: Any) -> Manifest:
    return _of_devices("DeviceClass", name, fields)


def _classes(_size: int, _random: Random) -> list[Manifest]:
    return [_class()]


def _device(number: int, attributes: int = 0, **fields: Any) -> Manifest:
    found = {f"a{i}": {"string": f"v{number % 2}-{i}"} for i in range(attributes)}
    return {"name": f"device-{number}", "attributes": {"index": {"int": number}, **found}, **fields}


def _slice(name: str, devices: list[Manifest], count: int = 1, **where: Any) -> Manifest:
    pool = {"name": name.partition(".")[0], "generation": 1, "resourceSliceCount": count}
    return _of_devices(
        "ResourceSlice", name, {"driver": DRIVER, "pool": pool, "devices": devices, **(where or {"allNodes": True})}
    )


def _exactly(**fields: Any) -> Manifest:
    return {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1, **fields}


def _claim(name: str, requests: list[Manifest], constraints: list[Manifest] | None = None) -> Manifest:
    devices = {"requests": requests, "constraints": constraints or []}
    return _of_devices("ResourceClaim", name, {"devices": devices}, HOSTILE)


def _one(**fields: Any) -> list[Manifest]:
    return [{"name": "r", "exactly": _exactly(**fields)}]


def _pod(name: str, *claims: str) -> Manifest:
    spec = {"resourceClaims": [{"name": f"c{i}", "resourceClaimName": each} for i, each in enumerate(claims)]}
    return pod_manifest(name, namespace=HOSTILE, cpu="10m", spec=spec)


def _attributes(size: int, _random: Random) -> list[Manifest]:
    devices = [_device(i, MOST_ATTRIBUTES - 1) for i in range(MOST_DEVICES)]
    slices = [_slice(f"pool.{i}", devices, size) for i in range(size)]
    # Devices of one name make the pool invalid, those of different names are searched to the last.
    for number, each in enumerate(slices):
        each["spec"]["devices"] = [{**device, "name": f"{device['name']}-{number}"} for device in devices]
    never = {"cel": {"expression": f"device.attributes['{DRIVER}'].index == -1"}}
    return [*slices, _claim("none", _one(selectors=[never])), _pod("none", "none")]


def _never_complete(size: int, _random: Random) -> list[Manifest]:
    slices = [_slice(f"pool.{i}", [_device(i)], size + 1) for i in range(size)]
    return [*slices, _claim("waits", _one()), _pod("waits", "waits")]


def _alike(size: int, _random: Random) -> list[Manifest]:
    """Return devices that are nearly alike, and a claim for more of them than have anything in common."""
    devices = [{**_device(i), "attributes": {"group": {"int": i % 7}, "x": {"int": i}}} for i in range(size)]
    requests = [{"name": f"r{i}", "exactly": _exactly(count=4)} for i in range(4)]
    constraint = [{"requests": [], "matchAttribute": f"{DRIVER}/group"}]
    return [_slice("pool", devices), _claim("alike", requests, constraint), _pod("alike", "alike")]


def _costly(size: int, _random: Random) -> list[Manifest]:
    devices = [_device(i) for i in range(MOST_DEVICES)]
    costly = [{"cel": {"expression": f"{COSTLY} && {i} > {size}"}} for i in range(MOST_SELECTORS - 1)]
    pods = [_pod(f"costly-{i}", f"costly-{i}") for i in range(size)]
    claims = [
        _claim(f"costly-{i}", _one(selectors=[{"cel": {"expression": f"{COSTLY} && {i} < 0"}}, *costly]))
        for i in range(size)
    ]
    return [_slice("pool", devices), *claims, *pods]


def _many_claims(size: int, _random: Random) -> list[Manifest]:
    """Return claims that wait for a device, of which there are a few."""
    names = [f"claim-{i}" for i in range(size)]
    pool = _slice("pool", [_device(i) for i in range(MOST_RESULTS)])
    return [pool, *(_claim(name, _one()) for name in names), *(_pod(f"waits-{name}", name) for name in names)]


def _alternatives(size: int, _random: Random) -> list[Manifest]:
    """Return a claim with all that the API allows, which almost fits."""
    devices = [_device(i) for i in range(size)]
    requests = [
        {
            "name": f"r{i}",
            "firstAvailable": [{"name": f"s{k}", **_exactly(count=1 + k % 2)} for k in range(MOST_ALTERNATIVES)],
        }
        for i in range(MOST_REQUESTS)
    ]
    constraints = [{"requests": [f"r{i}"], "distinctAttribute": f"{DRIVER}/index"} for i in range(MOST_REQUESTS)]
    return [_slice("pool", devices), _claim("most", requests, constraints), _pod("most", "most")]


def _rules(size: int, _random: Random) -> list[Manifest]:
    rules = [
        _of_devices(
            "DeviceTaintRule",
            f"rule-{i}",
            {"deviceSelector": {"driver": DRIVER}, "taint": {"key": f"k{i}", "effect": "NoSchedule"}},
        )
        for i in range(size)
    ]
    pool = _slice("pool", [_device(i) for i in range(MOST_DEVICES)])
    return [pool, *rules, _claim("tainted", _one()), _pod("tainted", "tainted")]


def _requests(size: int, _random: Random) -> list[Manifest]:
    requests = [{"name": f"r{i}", "exactly": _exactly()} for i in range(size)]
    return [_claim("device", requests), _pod("device", "device")]


def _local_pools(size: int, _random: Random) -> list[Manifest]:
    """Return a device on every node, each of its own kind, and pods that find none."""
    slices = [
        _slice(f"local-{i}", [{**_device(i), "attributes": {"id": {"string": f"serial-{i}"}}}], nodeName=f"node-{i}")
        for i in range(size)
    ]
    claims = [_claim(f"two-{i}", _one(count=2)) for i in range(20)]
    return [*slices, *claims, *(_pod(f"two-{i}", f"two-{i}") for i in range(20))]


def _extended(size: int, _random: Random) -> list[Manifest]:
    """Return pods that request extended resources of many classes."""
    classes = [_class(f"class-{i}", extendedResourceName=f"{EXTENDED}-{i}") for i in range(size)]
    wanted = {f"{EXTENDED}-{i}": 1 for i in range(size)}
    return [*classes, pod_manifest("extended", namespace=HOSTILE, cpu="10m", requests=wanted)]


SHAPES = [
    Shape("device claim: requests", MOST_REQUESTS, _requests, _classes),
    Shape("devices: attributes", 16, _attributes, _classes, is_short=True),
    Shape("devices: a pool that is never complete", 2_000, _never_complete, _classes),
    Shape("devices: nearly alike, in one pool", 45, _alike, _classes, is_short=True),
    Shape("devices: costly selectors", 50, _costly, _classes),
    Shape("devices: 1,000 claims that wait", 1_000, _many_claims, _classes),
    Shape("devices: alternatives", MOST_REQUESTS - 1, _alternatives, _classes, is_short=True),
    Shape("devices: taint rules", 3_000, _rules, _classes),
    Shape("devices: a kind on each node", 300, _local_pools, _classes),
    Shape("devices: extended resources", 500, _extended, _classes),
]
