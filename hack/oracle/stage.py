"""Sets up the cluster of a scenario on a real API server, keeps it in step with the scheduler, and clears it away."""

import json
import time
from dataclasses import replace

from oracle.claims import written
from oracle.client import Client
from oracle.decision import Decision
from oracle.devices import ADMIN_LABEL, ADMIN_NAMESPACE
from oracle.kinds import ORDER
from oracle.scenario import OWNED_CLAIMS, Manifest, key_of
from oracle.scheduler_log import Entry, NoAnswer, SchedulerLog
from oracle.sentinels import NAME as SENTINEL
from oracle.sentinels import Sentinels
from oracle.storage import claim_of, has_node, is_bound

# There for all scenarios: without a controller a namespace never goes away.
NAMESPACES: dict[str, dict[str, str]] = {
    "blue": {"team": "blue", "tier": "front"},
    "green": {"team": "green", "tier": "front"},
    "bare": {},
    ADMIN_NAMESPACE: ADMIN_LABEL,
}
HOLD = "oracle/hold"
STARTED = "2026-02-01T00:{minute:02}:00Z"
GIVEN_UP = "deallocation of ResourceClaim completed"
SECONDS = 10
PAUSE_SECONDS = 0.002


class Stage:
    """One cluster at a time."""

    def __init__(self, api: Client, log: SchedulerLog, sentinels: Sentinels) -> None:
        self._api = api
        self._log = log
        self._sentinels = sentinels
        self._namespaces = [one for one in api.list("Namespace") if one["metadata"]["name"] != SENTINEL]
        # Listing costs more than remembering what the server answered.
        self._objects: dict[tuple[str, str], Manifest] = {}
        self._places: set[tuple[str, str]] = set()
        self._unseen_deletions: set[str] = set()
        # Pods that are gone while the scheduler still waits for their volumes: it will complain about them later.
        self._ghosts: set[str] = set()
        log.listeners.append(self._hear)

    def set_up(self, objects: list[Manifest]) -> None:
        """Create everything and return when the scheduler knows it."""
        self._log.read()
        for manifest in sorted(objects, key=lambda manifest: ORDER[manifest["kind"]]):
            self._remember(self._create(manifest))
        self._wait_for_nodes("Add event for node", self._node_names())
        self._sentinels.wait_for(self._other_kinds() | self._unseen_deletions)
        self._sentinels.wait_for_pods()
        self._unseen_deletions = set()

    def read(self) -> list[Manifest]:
        """The cluster as any client would read it now."""
        return [*self._namespaces, *self._objects.values()]

    def submit(self, manifest: Manifest) -> Manifest:
        """Create a pod to decide; gives it as the scheduler gets it."""
        self._lay_ghost(key_of(manifest))
        claims = json.loads(manifest["metadata"].get("annotations", {}).get(OWNED_CLAIMS, "[]"))
        if not claims and "status" not in manifest:
            return self._create(manifest)
        # What must be there before the first attempt needs the pod to exist: a gate holds it meanwhile.
        held = manifest | {"spec": manifest["spec"] | {"schedulingGates": [{"name": HOLD}]}}
        pod = self._create(held)
        for claim in claims:
            self._remember(self._create(_owned(claim, pod)))
        self._sentinels.wait_for({claim["kind"] for claim in claims})
        self._sentinels.wait_for_pods()
        del pod["spec"]["schedulingGates"]
        return self._api.update(pod)

    def complete(self, decision: Decision) -> Decision:
        """Add the API server's view to a decision: the condition that everybody can read, and the claims."""
        if decision.node and self._has_devices():
            return replace(decision, claims=written(self._pod(decision), self._refresh_claims()))
        # Once its victims go or a claim is given up, a pod is tried again, and the condition may be of that second try:
        # the log has the first.
        if decision.node or decision.victims or decision.outcome == "gated" or GIVEN_UP in decision.message:
            return decision
        condition = self._condition(decision)
        return replace(decision, reason=condition["reason"], message=condition["message"])

    def settle(self, pod: Manifest, decision: Decision, is_waiting_for_volumes: bool) -> None:
        """Make the outcome the state of the cluster for the next decision: who waits goes."""
        if is_waiting_for_volumes:
            self._give_up_waiting(pod)
        elif decision.node:
            self._start(pod)
        else:
            self._api.delete(pod)
            if self._has_devices():
                self._refresh_claims()
            if decision.nominated or decision.victims or pod["status"].get("nominatedNodeName"):
                self._sentinels.wait_for_pods()
                self._refresh("Pod")

    def tear_down(self) -> None:
        """Delete everything of the scenario and return when the scheduler has forgotten pods and nodes."""
        self._log.read()
        had_devices = self._has_devices()
        for one in self._objects.values():
            if "finalizers" in one["metadata"] and one["kind"] != "Namespace":
                self._api.release(one)
        places = sorted(self._places, key=lambda place: ORDER[place[0]], reverse=True)
        nodes = self._node_names()
        self._unseen_deletions |= self._other_kinds()
        self._objects, self._places = {}, set()
        for kind, namespace in places:
            self._api.delete_all(kind, namespace, except_for=SENTINEL)
        if had_devices:
            self._clear_claims()
        self._wait_for_nodes("Delete event for node", nodes)
        self._sentinels.wait_for_pods()

    def _create(self, manifest: Manifest) -> Manifest:
        metadata = manifest["metadata"]
        self._places.add((manifest["kind"], metadata.get("namespace", "")))
        if "deletionTimestamp" not in metadata:
            return self._api.create(manifest)
        staying = {key: value for key, value in metadata.items() if key != "deletionTimestamp"}
        created = self._api.create(manifest | {"metadata": staying})
        return self._api.terminate(created)

    def _remember(self, manifest: Manifest) -> None:
        self._objects[manifest["kind"], key_of(manifest)] = manifest

    def _start(self, pod: Manifest) -> None:
        """Be the kubelet of a pod that was bound: who has no start counts as started now, and now is never the same."""
        started = STARTED.format(minute=len(self._objects) % 60)
        self._remember(self._api.patch_status(pod, {"phase": "Running", "startTime": started}))
        if "priority" in pod["spec"]:
            self._sentinels.wait_for_pods()

    def _give_up_waiting(self, pod: Manifest) -> None:
        """Remove a pod that waits for a controller that is not there; what was written to its volumes stays."""
        claims = {claim_of(volume, pod) for volume in pod["spec"].get("volumes", [])} - {None}
        deadline = time.monotonic() + SECONDS
        while not self._are_written(claims):
            if time.monotonic() > deadline:
                raise NoAnswer(f"kube-scheduler did not write to the volumes of {key_of(pod)} within {SECONDS} s")
            time.sleep(PAUSE_SECONDS)
        self._ghosts.add(key_of(pod))
        self._api.delete(pod)
        self._sentinels.wait_for({"PersistentVolume", "PersistentVolumeClaim"})
        self._sentinels.wait_for_pods()

    def _are_written(self, claims: set[str | None]) -> bool:
        """Whether each claim has a volume that knows it, or says on which node to make one."""
        volumes, all_claims = self._refresh("PersistentVolume"), self._refresh("PersistentVolumeClaim")
        taken = {volume["spec"].get("claimRef", {}).get("uid") for volume in volumes}
        wanted = [claim for claim in all_claims if key_of(claim) in claims and not is_bound(claim)]
        return all(claim["metadata"]["uid"] in taken or has_node(claim) for claim in wanted)

    def _hear(self, entry: Entry) -> None:
        # It tries to write to the pod by name, so even that must be over before a pod of the same name comes.
        if entry.message == "Error updating pod":
            self._ghosts.discard(entry.facts.get("pod", ""))

    def _lay_ghost(self, key: str) -> None:
        """Wait for the last words about an earlier pod of this name, so that they are not taken for the new one's."""
        if key in self._ghosts:
            self._log.wait_until(lambda _: key not in self._ghosts, f"that it gave up waiting for {key}")

    def _refresh(self, kind: str) -> list[Manifest]:
        """Read again what we remember of a kind, and forget what is gone: a victim may be."""
        found = {key_of(one): one for one in self._api.list(kind)}
        for key in [key for remembered, key in self._objects if remembered == kind]:
            if key in found:
                self._objects[kind, key] = found[key]
            else:
                del self._objects[kind, key]
        return [one for (remembered, _), one in self._objects.items() if remembered == kind]

    def _has_devices(self) -> bool:
        return any(kind in ("DeviceClass", "ResourceClaim") for kind, _ in self._objects)

    def _refresh_claims(self) -> list[Manifest]:
        """Read again all claims for devices; kube-scheduler may have made some."""
        found = [one for one in self._api.list("ResourceClaim") if one["metadata"]["namespace"] != SENTINEL]
        self._objects = {place: one for place, one in self._objects.items() if place[0] != "ResourceClaim"}
        for one in found:
            self._remember(one)
            self._places.add(("ResourceClaim", one["metadata"]["namespace"]))
        return found

    def _clear_claims(self) -> None:
        """Delete all claims for devices, also what kube-scheduler still writes while its pods go."""
        deadline = time.monotonic() + SECONDS
        while left := self._refresh_claims():
            if time.monotonic() > deadline:
                raise NoAnswer(f"claims do not go: {', '.join(key_of(one) for one in left)}")
            for one in left:
                self._api.release(one)
                self._api.delete(one)
        self._objects = {}
        self._places = set()

    def _other_kinds(self) -> set[str]:
        return {kind for kind, _ in self._objects} - {"Node", "Pod"}

    def _node_names(self) -> set[str]:
        return {key for kind, key in self._objects if kind == "Node"}

    def _wait_for_nodes(self, message: str, names: set[str]) -> None:
        missing = set(names)

        def all_seen(entry: Entry) -> bool:
            if entry.message == message:
                missing.discard(entry.facts["node"])
            return not missing

        if missing:
            self._log.wait_until(all_seen, f"{message}: {', '.join(sorted(missing))}")

    def _pod(self, decision: Decision) -> Manifest:
        namespace, name = decision.pod.split("/")
        return self._api.get("Pod", {"metadata": {"namespace": namespace, "name": name}})

    def _condition(self, decision: Decision) -> Manifest:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            pod = self._pod(decision)
            for condition in pod["status"].get("conditions", []):
                if condition["type"] == "PodScheduled" and condition["reason"] != "SchedulingGated":
                    found: Manifest = condition
                    return found
            time.sleep(PAUSE_SECONDS)
        raise NoAnswer(f"kube-scheduler did not write the condition of {decision.pod} within {SECONDS} s")


def _owned(claim: Manifest, pod: Manifest) -> Manifest:
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
    owner |= {key: pod["metadata"][key] for key in ("name", "uid")}
    return claim | {"metadata": claim["metadata"] | {"ownerReferences": [owner]}}
