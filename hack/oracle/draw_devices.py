"""Chance for devices: small inventories in which the same few kinds meet the same few wishes."""

from dataclasses import dataclass

from oracle.devices import device_class, exactly, first_available, resource_slice, selectors, subrequest, taint_rule
from oracle.draw import ZONE, Draw
from oracle.scenario import Manifest

DRIVERS = ("gpu.example.com", "nic.example.com")
KINDS = ("a100", "h100", "l4")
SIZES = ("10Gi", "20Gi", "40Gi")
TAINTS = ("broken", "old")
COUNTER_SETS = ("mem", "lanes")
TRAITS = (
    "network",
    "perDevice",
    "generations",
    "incomplete",
    "invalid",
    "broken",  # what no API server takes
    "counters",
    "shared",
    "policies",
    "taints",
    "rules",
    "binding",
    "constraints",
    "firstAvailable",
    "all",
    "admin",
    "selectors",
    "errors",
    "config",
    "capacity",
    "held",
)


@dataclass(frozen=True)
class Devices:
    """One seed's chance, and what its devices and claims may have."""

    draw: Draw
    traits: frozenset[str]

    def may(self, trait: str, probability: float) -> bool:
        """True so often where the trait is wanted."""
        return trait in self.traits and self.draw.chance(probability)

    # What there is.

    def classes(self, seed: str = "") -> list[Manifest]:
        """A class for everything, one per driver, and one that is choosy."""
        some = {"config": [_config(0)]} if self.may("config", 0.7) else {}
        made = [
            device_class(f"any{seed}"),
            device_class(f"gpu{seed}", f'device.driver == "{DRIVERS[0]}"', **some),
            device_class(f"nic{seed}", f'device.driver == "{DRIVERS[1]}"'),
            device_class(f"choosy{seed}", f'device.attributes["{DRIVERS[0]}"].?model.orValue("") != "l4"'),
        ]
        return made[: self.draw.number(2, 4)] if "selectors" in self.traits else made[:3]

    def slices(self, nodes: list[str], seed: str = "") -> list[Manifest]:
        """Pools of each node, and pools of the network."""
        made = []
        for node in nodes:
            for driver in self.draw.some(DRIVERS, 1):
                made += self.pool(driver, f"{node}{'/x' if self.draw.chance(0.1) else ''}", {"nodeName": node}, nodes)
        if "network" in self.traits:
            for number in range(self.draw.number(1, 2)):
                made += self.pool(self.draw.pick(DRIVERS), f"net{number}{seed}", self.place(), nodes)
        return made

    def pool(self, driver: str, pool: str, place: Manifest, nodes: list[str]) -> list[Manifest]:
        """The slices of one pool: mostly one, sometimes several, old ones, or too few."""
        draw = self.draw
        if self.may("perDevice", 0.5):
            place = {"perDeviceNodeSelection": True}
        counters = self.counters() if self.may("counters", 0.7) else []
        devices = [self.device(f"d{number}", driver, counters) for number in range(draw.number(2, 6))]
        if "perDeviceNodeSelection" in place:
            devices = [one | self.device_place(nodes) for one in devices]
        cut = draw.number(0, len(devices)) if draw.chance(0.3) else len(devices)
        parts = [part for part in (devices[cut:], devices[:cut]) if part]
        if self.may("invalid", 0.25):
            parts.append([dict(draw.pick(devices))])
        sets = [[one] for one in counters] if self.may("invalid", 0.3) else [counters] * bool(counters)
        count = len(parts) + len(sets)
        generation = draw.number(1, 2)
        stated = count + 1 if self.may("incomplete", 0.3) else count
        stem = f"{draw.pick('mnk')}-{driver[:3]}-{pool.replace('/', '-')}"
        fields = {"generation": generation, "slices": stated}
        made = [
            resource_slice(f"{stem}-{number}", driver, pool, part, **fields, **place)
            for number, part in enumerate(parts)
        ]
        for number, part in enumerate(sets):
            made.append(resource_slice(f"{stem}-c{number}", driver, pool, [], **fields, **place, sharedCounters=part))
        if self.may("generations", 0.5):
            older = [self.device(f"d{number}", driver, []) for number in range(draw.number(1, 3))]
            if "perDeviceNodeSelection" in place:
                older = [one | self.device_place(nodes) for one in older]
            other = place if draw.chance(0.6) or "nodeName" not in place else {"nodeName": draw.pick(nodes)}
            fields = {"generation": generation + draw.pick((-1, 1)), "slices": draw.pick((1, 1, 2))}
            made.append(resource_slice(f"{stem}-g", driver, pool, older, **fields, **other))
        return made

    def place(self) -> Manifest:
        """Where a pool of the network can be used."""
        if self.draw.chance(0.5):
            return {"allNodes": True}
        return {"nodeSelector": self.selector()}

    def selector(self) -> Manifest:
        """A node selector of one term."""
        values = sorted(self.draw.some(("a", "b", "c"), 1, 2))
        requirements = [{"key": ZONE, "operator": "In", "values": values}]
        if self.draw.chance(0.3):
            requirements.append({"key": "rack", "operator": "Exists"})
        return {"nodeSelectorTerms": [{"matchExpressions": requirements}]}

    def device_place(self, nodes: list[str]) -> Manifest:
        """Where one device can be used."""
        kind = self.draw.number(0, 2)
        if kind == 0:
            return {"nodeName": self.draw.pick(nodes)}
        return {"allNodes": True} if kind == 1 else {"nodeSelector": self.selector()}

    def device(self, name: str, driver: str, counters: list[Manifest]) -> Manifest:
        """One device."""
        draw = self.draw
        made: Manifest = {"name": name, "attributes": self.attributes(), "capacity": self.capacities()}
        if self.may("shared", 0.5):
            made["allowMultipleAllocations"] = True
            if self.may("policies", 0.7):
                made["capacity"] = {key: self.with_policy(value) for key, value in made["capacity"].items()}
        if counters and draw.chance(0.8):
            made["consumesCounters"] = self.consumption(counters)
        if self.may("taints", 0.35):
            made["taints"] = self.taints()
        if self.may("binding", 0.3):
            made["bindingConditions"] = ["example.com/attached"]
            made["bindingFailureConditions"] = ["example.com/failed"]
        if self.may("binding", 0.3) or self.may("bindsToNode", 0.3):
            made["bindsToNode"] = True
        return {key: value for key, value in made.items() if value}

    def attributes(self) -> Manifest:
        """Attributes of a device; each may be missing, and one may have another type."""
        draw = self.draw
        made: Manifest = {}
        if draw.chance(0.9):
            made["model"] = {"string": draw.pick(KINDS)}
        if draw.chance(0.8):
            made["numa"] = {"int": draw.number(0, 1)} if draw.chance(0.9) else {"string": "0"}
        if draw.chance(0.7):
            made["size"] = {"int": draw.number(1, 3)}
        if draw.chance(0.3):
            made["driverVersion"] = {"version": draw.pick(("1.2.3", "1.3.0"))}
        if draw.chance(0.4):
            made["example.org/root"] = {"string": draw.pick("xy")}
        if self.may("broken", 0.1):
            made["nothing"] = {}
        return made

    def capacities(self) -> Manifest:
        """Capacities of a device."""
        draw = self.draw
        made: Manifest = {}
        if draw.chance(0.8):
            made["memory"] = {"value": draw.pick(SIZES)}
        if draw.chance(0.3):
            made["lanes"] = {"value": draw.pick(("4", "8", "1500m"))}
        return made

    def with_policy(self, capacity: Manifest) -> Manifest:
        """A capacity whose requests are rounded."""
        kind = self.draw.number(0, 4)
        value = capacity["value"]
        if not value.endswith("Gi"):
            return capacity | {"requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "1"}}}
        if kind == 0:
            policy: Manifest = {"default": "1Gi"}
        elif kind == 1:
            policy = {"default": "2Gi", "validRange": {"min": "2Gi", "step": "2Gi"}}
        elif kind == 2:
            policy = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi"}}
        elif kind == 3:
            policy = {"default": "4Gi", "validValues": ["1Gi", "4Gi", "8Gi"]}
        else:
            return capacity
        return capacity | {"requestPolicy": policy}

    def counters(self) -> list[Manifest]:
        """The counter sets of a pool."""
        made: list[Manifest] = [
            {"name": name, "counters": {"amount": {"value": self.draw.pick(("4", "8", "10"))}}}
            for name in self.draw.some(COUNTER_SETS, 1)
        ]
        if self.draw.chance(0.4):
            made[0]["counters"]["more"] = {"value": "3"}
        return [*made, dict(made[0])] if self.may("broken", 0.15) else made

    def consumption(self, counters: list[Manifest]) -> list[Manifest]:
        """What a device takes of them."""
        chosen = self.draw.some(list({one["name"]: one for one in counters}.values()), 1)
        made = []
        for one in chosen:
            names = self.draw.some(list(one["counters"]), 1)
            amounts = {name: {"value": str(self.draw.number(1, 5))} for name in names}
            made.append({"counterSet": one["name"], "counters": amounts})
        if self.may("invalid", 0.1):
            made[0]["counterSet"] = "nobody"
        return made

    def taints(self) -> list[Manifest]:
        """Taints of a device."""
        keys = self.draw.some(TAINTS, 1)
        return [{"key": key, "effect": self.draw.pick(("NoSchedule", "NoExecute", "None"))} for key in keys]

    def rules(self, slices: list[Manifest], seed: str = "") -> list[Manifest]:
        """Taint rules for some of the devices."""
        if "rules" not in self.traits:
            return []
        made = []
        for number in range(self.draw.number(0, 2)):
            spec = self.draw.pick(slices)["spec"]
            selector: Manifest = {}
            if self.draw.chance(0.7):
                selector["driver"] = spec["driver"]
            if self.draw.chance(0.5):
                selector["pool"] = spec["pool"]["name"]
            if self.draw.chance(0.5) and spec.get("devices"):
                selector["device"] = self.draw.pick(spec["devices"])["name"]
            taint = {"key": f"rule{number}", "effect": self.draw.pick(("NoSchedule", "NoExecute"))}
            made.append(taint_rule(f"rule-{number}{seed}", selector, taint))
        return made

    # What is wanted.

    def requests(self, classes: list[str], most: int = 2) -> list[Manifest]:
        """The requests of a claim."""
        return [self.request(f"r{number}", classes) for number in range(self.draw.number(1, most))]

    def request(self, name: str, classes: list[str]) -> Manifest:
        """A request: exactly one kind, or the first of several."""
        if self.may("firstAvailable", 0.5):
            subs = [
                subrequest(f"s{number}", self.draw.pick(classes), **self.wish())
                for number in range(self.draw.number(1, 3))
            ]
            return first_available(name, subs)
        admin = {"adminAccess": True} if self.may("admin", 0.5) else {}
        return exactly(name, self.draw.pick(classes), **self.wish(), **admin)

    def wish(self) -> Manifest:
        """How many, which, and in spite of what."""
        draw = self.draw
        made: Manifest = {"count": 1 if draw.chance(0.7) else draw.number(2, 3)}
        if self.may("all", 0.4):
            made = {"allocationMode": "All"}
        if self.may("selectors", 0.5):
            made["selectors"] = selectors(*(self.expression() for _ in range(1 + draw.chance(0.2))))
        if self.may("taints", 0.4) or self.may("rules", 0.4):
            made["tolerations"] = self.tolerations()
        if self.may("capacity", 0.5):
            made["capacity"] = {"requests": self.wanted_capacity()}
        return made

    def expression(self) -> str:
        """A selector; with errors wanted, one that may fail."""
        driver = self.draw.pick(DRIVERS)
        attributes, capacity = f'device.attributes["{driver}"]', f'device.capacity["{driver}"]'
        safe = (
            f'device.driver == "{driver}"',
            f'{attributes}.?model.orValue("") == "{self.draw.pick(KINDS)}"',
            f"has({attributes}.size) && {attributes}.size >= {self.draw.number(1, 3)}",
            f'"memory" in {capacity} && {capacity}.memory.compareTo(quantity("{self.draw.pick(SIZES)}")) >= 0',
            "device.allowMultipleAllocations",
            f'{attributes}.?driverVersion.optMap(v, v.isGreaterThan(semver("1.2.9"))).orValue(true)',
            'device.attributes["example.org"].?root.orValue("x") == "x"',
        )
        failing = (
            f"{attributes}.size >= 2",
            f'{attributes}.model == "a100" || {attributes}.numa == 1',
            f'{capacity}.memory.isGreaterThan(quantity("10Gi"))',
            f"{attributes}.model",
            f"{attributes}.numa > 0",
        )
        return self.draw.pick(failing if self.may("errors", 0.3) else safe)

    def tolerations(self) -> list[Manifest]:
        """Tolerations as an API server completes them."""
        draw = self.draw
        made = []
        for key in draw.some((*TAINTS, "rule0", ""), 1, 2):
            one: Manifest = {"operator": "Exists"} | ({"key": key} if key else {})
            if key and draw.chance(0.3):
                one = {"key": key, "operator": "Equal", "value": draw.pick(("", "x"))}
                one = {name: value for name, value in one.items() if value}
            if draw.chance(0.4):
                one["effect"] = draw.pick(("NoSchedule", "NoExecute"))
            made.append(one)
        return made

    def wanted_capacity(self) -> Manifest:
        """Amounts of some capacities."""
        made = {"memory": self.draw.pick(("1", "1Gi", "2560Mi", "3Gi", "6Gi", "12Gi", "40Gi"))}
        if self.may("errors", 0.1):
            return {"memory": self.draw.pick(("-1", "10E", "9223372036854775807"))}
        if self.draw.chance(0.2):
            made["lanes"] = self.draw.pick(("1", "1500m", "4"))
        return made

    def constraints(self, requests: list[Manifest]) -> list[Manifest]:
        """What devices of some requests must have in common, or not."""
        if "constraints" not in self.traits:
            return []
        made = []
        for _ in range(self.draw.number(0, 2)):
            attribute = self.draw.pick(
                (f"{DRIVERS[0]}/numa", f"{DRIVERS[0]}/model", "example.org/root", f"{DRIVERS[1]}/numa")
            )
            one: Manifest = {self.draw.pick(("matchAttribute", "matchAttribute", "distinctAttribute")): attribute}
            if self.draw.chance(0.5):
                one["requests"] = self.named(requests)
            made.append(one)
        return made

    def configs(self, requests: list[Manifest]) -> list[Manifest]:
        """Configurations for some requests or for all."""
        if "config" not in self.traits:
            return []
        made = []
        for number in range(self.draw.number(0, 2)):
            one = _config(number + 1)
            if self.draw.chance(0.7):
                one["requests"] = self.named(requests)
            made.append(one)
        return made

    def named(self, requests: list[Manifest]) -> list[str]:
        """Some requests, or subrequests, by name."""
        names = [one["name"] for one in requests]
        names += [f"{one['name']}/{sub['name']}" for one in requests for sub in one.get("firstAvailable", ())]
        return sorted(self.draw.some(names, 1, 2))


def _config(number: int) -> Manifest:
    return {"opaque": {"driver": DRIVERS[0], "parameters": {"number": number}}}
