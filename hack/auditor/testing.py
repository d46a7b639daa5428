"""Histories for tests: small builders for objects, and steps that feed them to a ledger one after the other."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from auditor.attempt import Attempt
from auditor.claim import claim_of
from auditor.device_slice import slice_of
from auditor.ledger import Ledger
from auditor.node import node_of
from auditor.pod import pod_of
from auditor.rules import Violation
from auditor.serves import Serves, serves_of

Raw = dict[str, Any]
Step = Callable[["World"], None]
MORNING = 1_700_000_000.0


def pod(
    name: str = "a", node: str = "", cpu: str = "1", meta: Raw | None = None, status: Raw | None = None, **spec: Any
) -> Raw:
    """Return a pod as the API returns it; keywords are fields of its spec."""
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **(meta or {})},
        "spec": {"containers": containers, **({"nodeName": node} if node else {}), **spec},
        "status": {"phase": "Pending", **(status or {})},
    }


def node(
    name: str = "n1", cpu: str = "2", pods: str = "10", meta: Raw | None = None, offers: Raw | None = None, **spec: Any
) -> Raw:
    """Return a ready node as the API returns it; keywords are fields of its spec."""
    allocatable = {"cpu": cpu, "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": pods, **(offers or {})}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", **(meta or {})},
        "spec": spec,
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def claim(name: str = "c", *uses: Raw, pods: Iterable[str] = (), on: str = "n1", **meta: Any) -> Raw:
    """Return a claim as the API returns it: with uses it is allocated, for these pods and on this node."""
    field = {"key": "metadata.name", "operator": "In", "values": [on]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    consumers = [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"} for pod in pods]
    status = {"allocation": {"devices": {"results": [*uses]}, "nodeSelector": selector}, "reservedFor": consumers}
    held = {"finalizers": ["resource.kubernetes.io/delete-protection"]} if uses else {}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-claim-{name}", **held, **meta}
    return {"kind": "ResourceClaim", "metadata": metadata, "spec": {}, "status": status if uses else {}}


def use(device: str = "d0", share: str = "", **consumed: str) -> Raw:
    """Return one device of an allocation; a share has amounts."""
    part = {"shareID": share, "consumedCapacity": consumed} if share else {}
    return {"request": "r", "driver": "example.com", "pool": "p", "device": device, **part}


def device_slice(*devices: Raw, name: str = "s", counters: Raw | None = None) -> Raw:
    """Return a slice of the pool as the API returns it, with a set of counters if asked for."""
    shared = [{"name": "set", "counters": {key: {"value": value} for key, value in (counters or {}).items()}}]
    spec = {"driver": "example.com", "pool": {"name": "p", "generation": 1}, "devices": [*devices]}
    spec |= {"sharedCounters": shared} if counters else {}
    return {"kind": "ResourceSlice", "metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def device(name: str = "d0", takes: Raw | None = None, **capacity: str) -> Raw:
    """Return a device with capacities, and what it takes of the counters."""
    amounts = {key: {"value": value} for key, value in (takes or {}).items()}
    consumption = [{"counterSet": "set", "counters": amounts}] if takes else []
    sizes = {key: {"value": value} for key, value in capacity.items()}
    return {"name": name, "capacity": sizes, "consumesCounters": consumption}


GATED: Raw = {"schedulingGates": [{"name": "hold"}]}
DELETING: Raw = {"deletionTimestamp": "2024-01-01T00:00:00Z"}


class World:
    """A ledger, a clock that stands until it is moved, and what the API would return."""

    def __init__(self, serves: Iterable[str] | Serves = (), wait_limit: float = 60, grace: float = 5) -> None:
        self.now = MORNING
        self.found: list[Violation] = []
        self.notes: list[str] = []
        declared = serves if isinstance(serves, Serves) else serves_of(serves)
        self.ledger = Ledger(declared, wait_limit, grace, self.found.append, self.notes.append)
        self.objects: dict[tuple[str, str], Raw] = {}
        self.in_sight = True
        self._version = 0
        self._born: dict[str, float] = {}
        self.list_all()

    @property
    def rules(self) -> list[str]:
        """The broken rules, sorted."""
        return sorted(violation.rule for violation in self.found)

    def see(self, raw: Raw) -> None:
        """Let the next version of an object come by watch."""
        raw = self._store(raw)
        devices, note = self.ledger.devices, self.notes.append
        match raw["kind"]:
            case "Pod":
                self.ledger.pod_changed(pod_of(raw, note), self.now)
            case "Node":
                self.ledger.node_changed(node_of(raw, note), self.now)
            case "ResourceClaim":
                devices.claim_changed(claim_of(raw, note), self.now)
            case "ResourceSlice":
                devices.slice_changed(slice_of(raw, note), self.now)

    def miss(self, raw: Raw) -> None:
        """Create the next version of an object without a watch event."""
        self._store(raw)

    def lose(self, kind: str, name: str) -> None:
        """Let the deletion of an object come by watch."""
        uid = self.objects.pop((kind, name))["metadata"]["uid"]
        match kind:
            case "Pod":
                self.ledger.pod_gone(uid, self.now)
            case "Node":
                self.ledger.node_gone(name, self.now)
            case "ResourceClaim":
                self.ledger.devices.claim_gone(uid)
            case "ResourceSlice":
                self.ledger.devices.slice_gone(name, self.now)

    def list_all(self, seen_until: float | None = None) -> None:
        """Let fresh lists of everything come."""
        raws = list(self.objects.values())
        nodes = [node_of(raw, self.notes.append) for raw in raws if raw["kind"] == "Node"]
        pods = [pod_of(raw, self.notes.append) for raw in raws if raw["kind"] == "Pod"]
        claims = [claim_of(raw, self.notes.append) for raw in raws if raw["kind"] == "ResourceClaim"]
        slices = [slice_of(raw, self.notes.append) for raw in raws if raw["kind"] == "ResourceSlice"]
        self.ledger.devices.slices_listed(slices, self.now, self.now)
        self.ledger.devices.claims_listed(claims, self.now, self.now)
        self.ledger.nodes_listed(nodes, self.now, self.now)
        self.ledger.pods_listed(pods, self.now, self.now, self.now if seen_until is None else seen_until)

    def pass_time(self, seconds: float) -> None:
        """Let time pass in small steps, with fresh lists wherever the ledger doubts."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + 1, end)
            self.ledger.tick(self.now, self.in_sight)
            self.ledger.check_waiting(self.now)
            if self.ledger.doubts(self.now) and self.in_sight:
                self.list_all()

    def close(self) -> None:
        """End as the auditor ends: with a last list."""
        self.list_all()
        self.ledger.close(self.now)

    def _store(self, raw: Raw) -> Raw:
        self._version += 1
        born = datetime.fromtimestamp(self._born.setdefault(raw["metadata"]["uid"], self.now), UTC)
        stamps = {"resourceVersion": str(self._version), "creationTimestamp": born.isoformat(timespec="seconds")}
        stamped = {**raw, "metadata": {**stamps, **raw["metadata"]}}
        self.objects[raw["kind"], raw["metadata"]["name"]] = stamped
        return stamped


def seen(raw: Raw) -> Step:
    """An object or its next version comes by watch."""
    return lambda world: world.see(raw)


def missed(raw: Raw) -> Step:
    """An object changes while the watch is broken."""
    return lambda world: world.miss(raw)


def gone(name: str = "a", kind: str = "Pod") -> Step:
    """An object's deletion comes by watch."""
    return lambda world: world.lose(kind, name)


def passes(seconds: float) -> Step:
    """Time passes."""
    return lambda world: world.pass_time(seconds)


def unseen(seconds: float) -> Step:
    """Time passes while the API is out of sight."""

    def step(world: World) -> None:
        world.in_sight = False
        world.pass_time(seconds)
        world.in_sight = True

    return step


def listed(blind_for: float = 0) -> Step:
    """Fresh lists come after a time of seeing nothing."""
    return lambda world: world.list_all(world.now - blind_for)


def bind(
    name: str = "a",
    to: str = "n1",
    by: str = "me",
    code: int = 201,
    ago: float = 0,
    at: float | None = None,
    uid: str | None = None,
) -> Step:
    """A binding request, received at a time or some time ago, and its answer come by the audit log."""

    def step(world: World) -> None:
        meant = f"uid-{name}" if uid is None else uid
        received = world.now - ago if at is None else at
        world.ledger.attempted(Attempt(by, "default", name, meant, to, code, received))

    return step


def told(history: Iterable[Step], **options: Any) -> World:
    """Replay a whole history and return the world at its end."""
    world = World(**options)
    for step in history:
        step(world)
    world.close()
    return world
