"""Allocations as the real allocator of kube-scheduler made them; each case has the number of its vector."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from kit.device_scene import (
    Manifest,
    Scene,
    claim,
    counter_set,
    device,
    device_class,
    distinct,
    draws,
    exactly,
    first_of,
    held,
    match,
    piece,
    selecting,
    shared,
)
from pilotage.kinds.devices import Allocation, ResourceClaim
from pilotage.testing import make_node

BIG = 'device.attributes["a"].size >= 2'
SMALL = 'device.attributes["a"].size == 1'
OK = 'device.attributes["a"].ok'
SIZES = [device("d0", size=2), device("d1", size=1)]
ALL: Manifest = {"allocationMode": "All"}
ADMIN: Manifest = {"adminAccess": True}
FORTY = [device(f"d{number}") for number in range(40)]
NAME_IS_N1 = "metadata.name In [n1]"
INVALID = "invalid resource pools were encountered"


def taint(key: str, effect: str) -> Manifest:
    return {"key": key, "effect": effect}


def ranged(low: str, high: str | None = None, step: str | None = None, default: str | None = None) -> Manifest:
    span = {"min": low, "max": high, "step": step}
    kept = {key: value for key, value in span.items() if value is not None}
    return {"value": "10Gi", "requestPolicy": {"default": default or low, "validRange": kept}}


def valued(*values: str) -> Manifest:
    return {"value": "10Gi", "requestPolicy": {"default": values[0], "validValues": list(values)}}


def names(count: int, start: int = 0) -> list[str]:
    return [f"d{number}" for number in range(start, start + count)]


TWO_D0 = [held("d0")]
CASES: list[tuple[str, list[Manifest], Iterable[Allocation], list[ResourceClaim], str]] = [
    (
        "an earlier request makes room for a later one (V1)",
        SIZES,
        [],
        [claim(exactly("any"), exactly("big", BIG))],
        "any=d1 big=d0",
    ),
    (
        "an earlier claim makes room for a later one (V2)",
        SIZES,
        [],
        [claim(exactly("any"), name="k0"), claim(exactly("big", BIG), name="k1")],
        "any=d1; big=d0",
    ),
    ("a device that a claim holds is not given again (V3)", SIZES, TWO_D0, [claim(exactly("r"))], "r=d1"),
    ("all devices are not free if one is held (V4)", SIZES, TWO_D0, [claim(exactly("r", **ALL))], "-"),
    ("an admin gets all, held or not (V5)", SIZES, TWO_D0, [claim(exactly("r", **ALL, **ADMIN))], "r=d0! r=d1!"),
    (
        "an admin's request blocks a later one for the device (V6)",
        [device("d0")],
        [],
        [claim(exactly("adm", **ADMIN), exactly("r"))],
        "-",
    ),
    (
        "an admin's claim can follow (V7)",
        [device("d0")],
        [],
        [claim(exactly("r"), name="k0"), claim(exactly("adm", **ADMIN), name="k1")],
        "r=d0; adm=d0!",
    ),
    (
        "an admin's claim blocks a later one (V7b)",
        [device("d0")],
        [],
        [claim(exactly("adm", **ADMIN), name="k1"), claim(exactly("r"), name="k0")],
        "-",
    ),
    (
        "devices of one value are found behind another (V8)",
        [device("d0", numa=0), device("d1", numa=1), device("d2", numa=1), device("d3")],
        [],
        [claim(exactly("r", count=2), constraints=[match("a/numa")])],
        "r=d1 r=d2",
    ),
    (
        "values of two types never match (V9)",
        [device("d0", numa="0"), device("d1", numa=0)],
        [],
        [claim(exactly("r", count=2), constraints=[match("a/numa")])],
        "-",
    ),
    (
        "a constraint leaves requests alone that it does not name (V10)",
        [device("d0", numa=0), device("d1", numa=1), device("d2", numa=1)],
        [],
        [claim(exactly("x"), exactly("y", count=2), constraints=[match("a/numa", "y")])],
        "x=d0 y=d1 y=d2",
    ),
    (
        "distinct values (V11)",
        [device("d0", nic=0), device("d1", nic=0), device("d2", nic=1)],
        [],
        [claim(exactly("r", count=2), constraints=[distinct("a/nic")])],
        "r=d0 r=d2",
    ),
    (
        "an attribute without domain is the driver's (V12)",
        [device("d0", numa=0), device("d1", numa=0)],
        [],
        [claim(exactly("r", count=2), constraints=[match("other/numa")])],
        "-",
    ),
    (
        "a share of all that a device has (V18)",
        [shared("x", {"mem": "10Gi"})],
        [],
        [claim(exactly("r"))],
        "r=x{mem 10Gi}",
    ),
    (
        "a share that does not fit is taken from the next device (V19)",
        [shared("x", {"mem": "10Gi"}), shared("y", {"mem": "10Gi"})],
        [held("x", {"mem": "8Gi"})],
        [claim(exactly("r", capacity={"mem": "3Gi"}))],
        "r=y{mem 3Gi}",
    ),
    (
        "the default of a policy (V20)",
        [shared("x", {"mem": ranged("1Gi", default="2Gi")})],
        [],
        [claim(exactly("r"))],
        "r=x{mem 2Gi}",
    ),
    (
        "rounded up to a step (V21)",
        [shared("x", {"mem": ranged("1Gi", step="1Gi")})],
        [],
        [claim(exactly("r", capacity={"mem": "2560Mi"}))],
        "r=x{mem 3Gi}",
    ),
    (
        "rounded up to the smallest (V22)",
        [shared("x", {"mem": ranged("1Gi", "4Gi")})],
        [],
        [claim(exactly("r", capacity={"mem": "1"}))],
        "r=x{mem 1Gi}",
    ),
    (
        "more than the largest (V23)",
        [shared("x", {"mem": ranged("1Gi", "4Gi")})],
        [],
        [claim(exactly("r", capacity={"mem": "5Gi"}))],
        "-",
    ),
    (
        "rounded up to a valid value (V24)",
        [shared("x", {"mem": valued("1Gi", "4Gi")})],
        [],
        [claim(exactly("r", capacity={"mem": "2Gi"}))],
        "r=x{mem 4Gi}",
    ),
    (
        "more than all valid values (V25)",
        [shared("x", {"mem": valued("1Gi", "4Gi")})],
        [],
        [claim(exactly("r", capacity={"mem": "5Gi"}))],
        "-",
    ),
    (
        "two requests share a device (V26)",
        [shared("x", {"mem": "10Gi"})],
        [],
        [claim(exactly("q", capacity={"mem": "4Gi"}), exactly("r", capacity={"mem": "6Gi"}))],
        "q=x{mem 4Gi} r=x{mem 6Gi}",
    ),
    (
        "one request never gets a device twice (V26b)",
        [shared("x", {"mem": "10Gi"})],
        [],
        [claim(exactly("q", count=2, capacity={"mem": "4Gi"}))],
        "-",
    ),
    (
        "a capacity filters exclusive devices (V27)",
        [device("x", {"mem": "4Gi"}), device("y", {"mem": "8Gi"})],
        [],
        [claim(exactly("r", capacity={"mem": "5Gi"}))],
        "r=y",
    ),
    (
        "a capacity that the device does not have (V28)",
        [shared("x", {"mem": "10Gi"})],
        [],
        [claim(exactly("r", capacity={"bw": "1"}))],
        "-",
    ),
    (
        "a shared device that a claim holds alone (V29)",
        [shared("x", {"mem": "10Gi"})],
        [held("x")],
        [claim(exactly("r", capacity={"mem": "1Gi"}))],
        "-",
    ),
    (
        "an old share of a device that is exclusive now (V29b)",
        [device("x", {"mem": "10Gi"})],
        [held("x", {"mem": "1Gi"})],
        [claim(exactly("r"))],
        "-",
    ),
    (
        "an old share of a device without capacities (V29c)",
        [device("x")],
        [held("x", {"mem": "1Gi"})],
        [claim(exactly("r"))],
        "r=x",
    ),
    (
        "the second alternative (V30)",
        [device("x")],
        [],
        [claim(first_of("r", exactly("s0", of="none"), exactly("s1")))],
        "r/s1=x",
    ),
    (
        "an alternative makes room for a later request (V31)",
        SIZES,
        [],
        [claim(first_of("r", exactly("s0", BIG), exactly("s1", SMALL)), exactly("big", BIG))],
        "r/s1=d1 big=d0",
    ),
    (
        "an alternative beyond the limit is passed over (V32)",
        FORTY,
        [],
        [claim(first_of("r", exactly("s0", count=33), exactly("s1")))],
        "r/s1=d0",
    ),
    (
        "more devices than a claim may have (V33)",
        FORTY,
        [],
        [claim(exactly("q", count=20), exactly("r", count=13))],
        "claim ns/k, request r: adding 13 devices exceeds the claim limit of 32, with 20 already accounted for",
    ),
    (
        "the alternative within the limit (V34)",
        FORTY,
        [],
        [claim(exactly("q", count=20), first_of("r", exactly("s0", count=13), exactly("s1", count=12)))],
        " ".join([f"q={name}" for name in names(20)] + [f"r/s1={name}" for name in names(12, 20)]),
    ),
    ("all of nothing (V35)", [], [], [claim(exactly("r", **ALL))], "-"),
    (
        "all devices with one tainted (V36)",
        [device("x", taints=[taint("k", "NoSchedule")]), device("y")],
        [],
        [claim(exactly("r", **ALL))],
        "-",
    ),
    (
        "nothing is left after all (V37)",
        [device("x"), device("y")],
        [],
        [claim(exactly("q", **ALL), exactly("r"))],
        "-",
    ),
    (
        "taints without effect (V38)",
        [device("x", taints=[taint("k", "None"), taint("l", "Whatever")])],
        [],
        [claim(exactly("r"))],
        "r=x",
    ),
    (
        "every taint needs a toleration (V39)",
        [device("x", taints=[taint("k", "NoSchedule"), taint("l", "NoExecute")]), device("y")],
        [],
        [claim(exactly("r", tolerations=[{"key": "k", "operator": "Exists"}]))],
        "r=y",
    ),
    (
        "taints concern admins, too (V40)",
        [device("x", taints=[taint("k", "NoSchedule")])],
        [],
        [claim(exactly("r", **ADMIN))],
        "-",
    ),
    ("a claim without requests (V47)", [device("x")], [], [claim()], ""),
    (
        "an expression is not evaluated behind one that is false (V50)",
        [device("x")],
        [],
        [claim(exactly("r", 'device.attributes["a"].nope == 1', of="none"))],
        "-",
    ),
    (
        "an expression is not evaluated for a device in use (V51)",
        [device("x"), device("y", ok=True)],
        [held("x")],
        [claim(exactly("r", OK))],
        "r=y",
    ),
    (
        "an expression is not evaluated behind the solution (V52)",
        [device("y", ok=True), device("x")],
        [],
        [claim(exactly("r", OK))],
        "r=y",
    ),
    (
        "rounded up to a step in whole units (W1)",
        [shared("x", {"mem": {**ranged("500m", step="500m"), "value": "4"}})],
        [],
        [claim(exactly("r", capacity={"mem": "1200m"}))],
        "r=x{mem 2}",
    ),
    (
        "an admin needs room on a shared device (W3)",
        [shared("x", {"mem": "10Gi"})],
        [held("x", {"mem": "10Gi"})],
        [claim(exactly("r", **ADMIN))],
        "-",
    ),
    (
        "an admin gets a share (W4)",
        [shared("x", {"mem": "10Gi"})],
        [],
        [claim(exactly("r", **ADMIN))],
        "r=x{mem 10Gi}!",
    ),
    (
        "all that are large enough (W5)",
        [shared("x", {"mem": "10Gi"}), shared("y", {"mem": "2Gi"})],
        [],
        [claim(exactly("r", **ALL, capacity={"mem": "4Gi"}))],
        "r=x{mem 4Gi}",
    ),
    (
        "all that are large enough, if they were unused (W6)",
        [shared("x", {"mem": "10Gi"}), shared("y", {"mem": "10Gi"})],
        [held("x", {"mem": "8Gi"})],
        [claim(exactly("r", **ALL, capacity={"mem": "4Gi"}))],
        "-",
    ),
    (
        "a share of all capacities (W7)",
        [shared("x", {"mem": "10Gi", "bw": "5"})],
        [],
        [claim(exactly("r", capacity={"mem": "1Gi"}))],
        "r=x{bw 5, mem 1Gi}",
    ),
    (
        "a constraint names one alternative (W8)",
        [device("d0", numa=0), device("d1", numa=1), device("d2", numa=0)],
        [],
        [
            claim(
                exactly("x"),
                first_of("y", exactly("s0", count=2), exactly("s1")),
                constraints=[match("a/numa", "x", "y/s1")],
            )
        ],
        "x=d0 y/s0=d1 y/s0=d2",
    ),
    (
        "a constraint names all alternatives (W9)",
        [device("d0", numa=0), device("d1", numa=1), device("d2", numa=0)],
        [],
        [
            claim(
                exactly("x"),
                first_of("y", exactly("s0", count=2), exactly("s1")),
                constraints=[match("a/numa", "x", "y")],
            )
        ],
        "x=d0 y/s1=d2",
    ),
    (
        "a constraint names no request (W10)",
        [device("d0", numa=0), device("d1", numa=1), device("d2", numa=1)],
        [],
        [claim(exactly("x"), exactly("y"), constraints=[match("a/numa")])],
        "x=d1 y=d2",
    ),
    (
        "a negative amount (W11)",
        [shared("x", {"mem": "10Gi"})],
        [],
        [claim(exactly("r", capacity={"mem": "-1"}))],
        'claim ns/k, request r: checking capacity for device a/p/x: capacity "mem": capacity value is negative',
    ),
    (
        "an amount that is too large (W12)",
        [shared("x", {"mem": ranged("1Gi", step="1Gi")})],
        [],
        [claim(exactly("r", capacity={"mem": "10E"}))],
        'claim ns/k, request r: checking capacity for device a/p/x: capacity "mem": capacity request cannot be '
        "represented in the device's range arithmetic: request 10E exceeds MaxInt64",
    ),
    (
        "shares of a device without capacities (W14)",
        [shared("x")],
        [],
        [claim(exactly("r")), claim(exactly("r"), name="k2")],
        "r=x{}; r=x{}",
    ),
    (
        "an attribute without a value (W15)",
        [device("x", q={})],
        [],
        [claim(exactly("r", "true"))],
        "claim ns/k: selector #0 on device a/p/x: CEL runtime error: attribute q: unsupported attribute value",
    ),
    (
        "a class that is not there (W17)",
        [],
        [],
        [claim(exactly("r", of="zz"))],
        'claim ns/k, request r: could not retrieve device class zz: deviceclass.resource.k8s.io "zz" not found',
    ),
    (
        "a missing attribute (W26)",
        [device("x")],
        [],
        [claim(exactly("r", of="nope"))],
        "class nope: selector #0 on device a/p/x: CEL runtime error: no such key: nope. consider using CEL optional "
        "chaining (.? followed by orValue()) or guarding the check with has() for optional fields",
    ),
]


@pytest.mark.parametrize(
    ("devices", "taken", "claims", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_devices_of_one_slice(
    devices: list[Manifest], taken: Iterable[Allocation], claims: list[ResourceClaim], expected: str
) -> None:
    none = device_class("none", "false")
    nope = device_class("nope", 'device.attributes["a"].nope == 1')
    assert Scene([piece("s", *devices)] if devices else [], [none, nope], taken).told(*claims) == expected


COUNTERS = piece("counters", counters=[counter_set(mem="10Gi")], of=2)
THREE = [device(name, consumesCounters=draws(mem=size)) for name, size in (("x", "6Gi"), ("y", "6Gi"), ("z", "4Gi"))]
TWO = exactly("r", count=2)


def everywhere(name: str, *devices: Manifest, **fields: Any) -> Any:
    return piece(name, *devices, allNodes=True, **fields)


SLICES = [
    ("counters are shared (V13)", [COUNTERS, piece("s", *THREE, of=2)], [], [claim(TWO)], "r=x r=z"),
    (
        "counters that a held device draws (V14)",
        [COUNTERS, piece("s", *THREE, of=2)],
        [held("x")],
        [claim(exactly("r"))],
        "r=z",
    ),
    (
        "counters that do not exist (V15)",
        [piece("s", device("x", consumesCounters=draws("nope", mem="1")))],
        [],
        [claim(exactly("r"))],
        INVALID,
    ),
    (
        "an admin needs counters (V16)",
        [COUNTERS, piece("s", THREE[0], of=2)],
        [held("x")],
        [claim(exactly("r", **ADMIN))],
        "-",
    ),
    (
        "counters that a device on another node draws (V17)",
        [
            everywhere("counters", counters=[counter_set(mem="10Gi")], of=3),
            piece("s1", THREE[0], of=3),
            piece("s2", THREE[1], of=3, nodeName="n2"),
        ],
        [held("y")],
        [claim(exactly("r"))],
        "-",
    ),
    (
        "an invalid pool does not spoil others (V49)",
        [piece("s", device("x"), device("x")), piece("t", device("y"), pool="q")],
        [],
        [claim(exactly("r"))],
        "r=a/q/y",
    ),
    (
        "slices of an unknown feature leave the pool incomplete (V53)",
        [
            COUNTERS,
            piece(
                "s",
                device("x", consumesCounters=[{**draws(mem="1Gi")[0], "compatibilityGroups": ["g"]}]),
                device("y"),
                of=2,
            ),
        ],
        [],
        [claim(exactly("r"))],
        "-",
    ),
    (
        "shares of a device draw its counters once (V54)",
        [COUNTERS, piece("s", shared("x", {"bw": "4"}, consumesCounters=draws(mem="10Gi")), of=2)],
        [],
        [claim(exactly("q", capacity={"bw": "1"}), exactly("r", capacity={"bw": "1"}))],
        "q=x{bw 1} r=x{bw 1}",
    ),
    (
        "slices by name (W22)",
        [piece("b", device("x"), of=2), piece("a", device("y"), of=2)],
        [],
        [claim(TWO)],
        "r=y r=x",
    ),
    (
        "pools by driver and name (W23)",
        [
            piece("s1", device("x"), pool="z"),
            piece("s2", device("y"), pool="a", driver="b"),
            piece("s3", device("w"), pool="y"),
        ],
        [],
        [claim(exactly("r", count=3))],
        "r=a/y/w r=a/z/x r=b/a/y",
    ),
    (
        "slices, then devices as they are listed (9.4)",
        [
            piece("z", device("d0"), pool="p1", driver="b"),
            piece("y", device("d5"), device("d1"), pool="p2"),
            piece("x", device("d9"), device("d2"), pool="p1"),
        ],
        [],
        [claim(exactly("r", count=3))],
        "r=a/p1/d9 r=a/p1/d2 r=a/p2/d5",
    ),
    (
        "pools with binding conditions come last (9.4)",
        [piece("s1", device("x", bindingConditions=["ready"])), piece("s2", device("y"), pool="q")],
        [],
        [claim(TWO)],
        "r=a/q/y r=x",
    ),
    (
        "all of a pool that is being updated (9.3)",
        [piece("s", device("x"), of=2)],
        [],
        [claim(exactly("r", **ALL))],
        "claim ns/k, request r: asks for all devices, but resource pool a/p is currently being updated",
    ),
    (
        "all of an invalid pool (9.3)",
        [piece("s", device("x"), device("x"))],
        [],
        [claim(exactly("r", **ALL))],
        "claim ns/k, request r: asks for all devices, but resource pool a/p is currently invalid",
    ),
    (
        "an old generation that is complete (9.2)",
        [piece("s", device("x")), piece("t", device("y"), generation=2, nodeName="n2")],
        [],
        [claim(exactly("r"))],
        "r=x",
    ),
    (
        "an old generation that is not (9.2)",
        [piece("s", device("x"), of=2), piece("t", device("y"), generation=2, nodeName="n2")],
        [],
        [claim(exactly("r", **ALL))],
        "-",
    ),
    (
        "partitions find the way back (scheduler_perf)",
        [
            piece(
                "counters",
                counters=[counter_set(f"cpu{i}", n="1") for i in range(1, 9)] + [counter_set(mem="70Gi")],
                of=2,
            ),
            piece(
                "s",
                *[
                    device(
                        f"device-{i}",
                        consumesCounters=draws(f"cpu{i}", n="1") + draws(mem="20Gi" if i == 1 else "10Gi"),
                    )
                    for i in range(1, 9)
                ],
                of=2,
            ),
        ],
        [],
        [claim(exactly("r", count=7))],
        " ".join(f"r=device-{i}" for i in range(2, 9)),
    ),
]


@pytest.mark.parametrize(
    ("slices", "taken", "claims", "expected"), [case[1:] for case in SLICES], ids=[case[0] for case in SLICES]
)
def test_pools(slices: list[Any], taken: list[Allocation], claims: list[ResourceClaim], expected: str) -> None:
    assert Scene(slices, (), taken).told(*claims) == expected


ZONE_A = selecting(("zone", "In", ["a"]))
AB, BA_RACK = selecting(("zone", "In", ["a", "b"])), selecting(("zone", "In", ["b", "a"]), ("rack", "Exists", []))
PLACES = [
    (
        "devices that name their nodes (V43)",
        [
            piece(
                "s",
                device("x", nodeName="n2"),
                device("y", nodeName="n1"),
                device("z", allNodes=True),
                device("w"),
                perDeviceNodeSelection=True,
            )
        ],
        TWO,
        "r=y r=z",
        NAME_IS_N1,
    ),
    (
        "devices that select their nodes (V44)",
        [piece("s", device("z", nodeSelector=ZONE_A), device("q", allNodes=True), perDeviceNodeSelection=True)],
        TWO,
        "r=z r=q",
        "zone In [a]",
    ),
    (
        "a device binds to the node (V45)",
        [everywhere("s", device("x", bindsToNode=True))],
        exactly("r"),
        "r=x",
        NAME_IS_N1,
    ),
    (
        "a device of the node and one of all nodes (W24)",
        [piece("s1", device("x"), of=2), everywhere("s2", device("y"), of=2)],
        TWO,
        "r=x r=y",
        NAME_IS_N1,
    ),
    (
        "conditions are not repeated (W25)",
        [piece("s1", device("x"), of=2, nodeSelector=AB), piece("s2", device("y"), of=2, nodeSelector=BA_RACK)],
        TWO,
        "r=x r=y",
        "zone In [a,b], rack Exists",
    ),
    ("all nodes", [everywhere("s", device("x"))], exactly("r"), "r=x", ""),
]


@pytest.mark.parametrize(
    ("slices", "request_", "expected", "where"), [case[1:] for case in PLACES], ids=[case[0] for case in PLACES]
)
def test_where_the_devices_can_be_used(slices: list[Any], request_: Manifest, expected: str, where: str) -> None:
    scene = Scene(slices, node=make_node("n1", labels={"zone": "a", "rack": "1"}))
    assert scene.told(claim(request_)) == expected
    assert scene.where(claim(request_)) == where


def config(number: Any, *requests: str) -> Manifest:
    return {"requests": list(requests), "opaque": {"driver": "a", "parameters": number}}


CONFIGS = [
    (
        "lists that name every request are left out (V41)",
        [exactly("q"), exactly("r"), exactly("t", of="e")],
        [config("only r", "r"), config("for all"), config("named all", "q", "r", "t")],
        ["FromClass [q,r] 1", "FromClaim [r] only r", "FromClaim [] for all", "FromClaim [] named all"],
    ),
    ("the class of all requests (V42)", [exactly("q"), exactly("r")], [], ["FromClass [] 1"]),
    (
        "the chosen alternative (W13)",
        [first_of("r", exactly("s0"), exactly("s1"))],
        [config("s0", "r/s0"), config("s1", "r/s1")],
        ["FromClass [] 1", "FromClaim [] s0"],
    ),
]


@pytest.mark.parametrize(
    ("requests", "configs", "expected"), [case[1:] for case in CONFIGS], ids=[case[0] for case in CONFIGS]
)
def test_configurations(requests: list[Manifest], configs: list[Manifest], expected: list[str]) -> None:
    classes = [device_class("c", config=[config(1)]), device_class("e")]
    scene = Scene([piece("s", device("x"), device("y"), device("z"))], classes)
    (found,) = scene.allocations(claim(*requests, config=configs))
    told = [
        f"{each.source} [{','.join(each.requests)}] {msgspec.json.decode(each.opaque.parameters)}"
        for each in found.devices.config
        if each.opaque
    ]
    assert told == expected
