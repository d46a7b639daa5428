"""Generates questions for an allocator: a few nodes, what is there, what is held, and the claims of one pod."""

from dataclasses import dataclass

from oracle.devices import RESOURCE, allocated, claim, exactly, first_available, resource_slice, result, subrequest
from oracle.draw import NODE_LABELS, ZONE, Draw
from oracle.draw_devices import SIZES, TRAITS, Devices
from oracle.scenario import Manifest

CROWD = 40  # devices, more than a claim may have
CROWD_EVERY = 20
SHARE = "00000000-0000-4000-8000-{number:012}"


@dataclass(frozen=True)
class Question:
    """One cluster, and the claims that one pod still needs there."""

    seed: int
    nodes: list[Manifest]
    slices: list[Manifest]
    classes: list[Manifest]
    rules: list[Manifest]
    holders: list[Manifest]  # allocated claims
    claims: list[Manifest]

    def for_kubernetes(self) -> Manifest:
        """The same as its allocator gets it: taints where the rules put them, and sums of what is held."""
        held = _Held(self.holders)
        return {
            "nodes": self.nodes,
            "slices": [_tainted(one, self.rules) for one in self.slices],
            "classes": self.classes,
            "claims": self.claims,
            "allocated": held.devices,
            "shares": held.shares,
            "consumed": held.consumed,
        }


def question(seed: int) -> Question:
    """The question of a seed."""
    draw = Draw(seed)
    nodes = [_node(draw, f"n{number}") for number in range(draw.number(1, 3))]
    if seed % CROWD_EVERY == 0:
        return _crowd(draw, nodes)
    devices = Devices(draw, frozenset(draw.some(TRAITS, 1, 8)))
    names = [node["metadata"]["name"] for node in nodes]
    classes = devices.classes()
    wanted = [one["metadata"]["name"] for one in classes]
    if devices.may("errors", 0.1):
        wanted.append("missing")
    slices = draw.some(made := devices.slices(names), len(made))
    if devices.may("errors", 0.1):
        slices = [_with_two_terms(one) for one in slices]
    rules = devices.rules(slices)
    claims = [_claim(devices, f"c{number}", wanted) for number in range(draw.pick((1, 1, 2, 3)))]
    holders = _holders(draw, slices) if "held" in devices.traits else []
    return Question(seed, nodes, slices, classes, rules, holders, claims)


def _node(draw: Draw, name: str) -> Manifest:
    labels = {ZONE: draw.pick(NODE_LABELS[ZONE])} | ({"rack": "1"} if draw.chance(0.5) else {})
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _with_two_terms(made: Manifest) -> Manifest:
    terms = made["spec"].get("nodeSelector", {}).get("nodeSelectorTerms")
    return made | {"spec": made["spec"] | {"nodeSelector": {"nodeSelectorTerms": terms * 2}}} if terms else made


def _claim(devices: Devices, name: str, classes: list[str]) -> Manifest:
    if devices.draw.chance(0.02):
        return claim(name, [])
    requests = devices.requests(classes, 3 if devices.draw.chance(0.3) else 2)
    return claim(name, requests, constraints=devices.constraints(requests), config=devices.configs(requests))


def _crowd(draw: Draw, nodes: list[Manifest]) -> Question:
    """So many equal devices that the limit of a claim matters; more of them than anybody may have."""
    some = [{"name": f"d{number}", "attributes": {"numa": {"int": number % 2}}} for number in range(CROWD)]
    slices = [resource_slice("crowd", "gpu.example.com", "crowd", some, allNodes=True)]
    requests = []
    for number in range(draw.number(1, 3)):
        if draw.chance(0.5):
            requests.append(exactly(f"r{number}", "any", count=draw.number(1, 20)))
            continue
        counts = [draw.pick((1, 12, 13, 20, 33)) for _ in range(draw.number(1, 3))]
        subs = [subrequest(f"s{place}", "any", count=count) for place, count in enumerate(counts)]
        requests.append(first_available(f"r{number}", subs))
    classes = [{"apiVersion": RESOURCE, "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}]
    return Question(draw.seed, nodes, slices, classes, [], [], [claim("c0", requests)])


def _holders(draw: Draw, slices: list[Manifest]) -> list[Manifest]:
    """Claims that have devices already; a shared one may have several holders, another has one."""
    there = [(one["spec"], device) for one in slices for device in one["spec"].get("devices", ())]
    made: list[Manifest] = []
    for number, (spec, device) in enumerate(draw.some(there, 0, max(1, len(there) // 2))):
        place = (spec["driver"], spec["pool"]["name"], device["name"])
        shares = draw.number(1, 2) if device.get("allowMultipleAllocations") and draw.chance(0.85) else 0
        if not shares:
            admin: Manifest = {"adminAccess": True} if draw.chance(0.15) else {}
            made.append(_holder(f"h{number}", [result(*place, **admin)]))
        made += [
            _holder(f"h{number}-{share}", [result(*place, **_part(draw, device, 10 * number + share))])
            for share in range(shares)
        ]
    return made


def _part(draw: Draw, device: Manifest, number: int) -> Manifest:
    """What the holder of a share has."""
    amounts = ("1Gi", "4Gi", *SIZES)
    taken = {name: draw.pick(amounts) if name == "memory" else "1" for name in device.get("capacity", ())}
    return {"shareID": SHARE.format(number=number)} | ({"consumedCapacity": taken} if taken else {})


def _holder(name: str, results: list[Manifest]) -> Manifest:
    return allocated(claim(name, [exactly("r0", "any")], namespace="held"), results)


class _Held:
    """What allocated claims hold; access for admins holds nothing."""

    def __init__(self, holders: list[Manifest]) -> None:
        self.devices: list[Manifest] = []
        self.shares: list[Manifest] = []
        self.consumed: list[Manifest] = []
        for holder in holders:
            for one in holder["status"]["allocation"]["devices"]["results"]:
                if not one.get("adminAccess"):
                    self._add(one)

    def _add(self, one: Manifest) -> None:
        name = {key: one[key] for key in ("driver", "pool", "device")}
        if "shareID" not in one:
            self.devices.append(name)
            return
        self.shares.append(name | {"shareID": one["shareID"]})
        if "consumedCapacity" in one:
            self.consumed.append(name | {"capacity": one["consumedCapacity"]})


def _tainted(made: Manifest, rules: list[Manifest]) -> Manifest:
    spec = made["spec"]
    devices = [
        device | {"taints": device.get("taints", []) + _added(rules, spec, device)}
        for device in spec.get("devices", ())
    ]
    return made | {"spec": spec | ({"devices": devices} if devices else {})}


def _added(rules: list[Manifest], spec: Manifest, device: Manifest) -> list[Manifest]:
    place = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
    return [
        rule["spec"]["taint"]
        for rule in rules
        if all(place[key] == value for key, value in rule["spec"]["deviceSelector"].items())
    ]
