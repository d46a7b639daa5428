"""Scenes in which scheduler and operator need every right that they have, played to releases side by side."""

import http.client
import json
import ssl
import uuid
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import yaml

from kit.admin import Admin
from kit.fault_plans import is_bind
from kit.fault_proxy import Fault, Trouble
from kit.plugin_ground import PROFILES
from kit.plugin_scenes import NETWORK, SHOP
from kit.side_by_side import Neighbour, Neighbours
from kit.stage import Stage
from pilotage.config.handshake import PLUGINS_LABEL
from pilotage.scheduler_profiles.sharing_fields import TAINT
from pilotage.testing import node_manifest
from pilotage.testing.storage import claim_volumes

PLAY = "play"  # the namespace of all pods
READER = {"name": "default", "namespace": PLAY}  # who may see the metrics
URGENT = "urgent"  # a PriorityClass
PATIENCE = 120.0  # seconds
HASH = "pilotage.dev/config-hash"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PLURALS = {
    "AppGroup": "appgroups",
    "ElasticQuota": "elasticquotas",
    "NetworkTopology": "networktopologies",
    "PodGroup": "podgroups.scheduling.x-k8s.io",
    "StickyJob": "stickyjobs",
}
KEPT = (
    {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"minMember": 1},
    },
    {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "again", "annotations": {"pod-group.pilotage.dev/when-a-member-fails": "RestartGroup"}},
        "spec": {"minMember": 2},
    },
    {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota"},
        "spec": {"max": {"cpu": 1000}},
    },
    {
        "apiVersion": "pilotage.dev/v1alpha1",
        "kind": "StickyJob",
        "metadata": {"name": "job"},
        "spec": {"template": {"spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "x"}]}}},
    },
)


class Play:
    """Plays everything that needs a right to releases that run."""

    def __init__(self, neighbours: Neighbours, admin: Admin) -> None:
        self.neighbours, self.admin = neighbours, admin
        self.kubectl, self.namespace = neighbours.control_plane.kubectl, neighbours.namespace
        self.stage = Stage(admin, PLAY)

    def until(self, holds: Callable[[], object], what: str, neighbour: Neighbour) -> None:
        """Wait until something holds."""
        neighbour.release.until(holds, what, neighbour.processes, PATIENCE)

    def create(self, on: Neighbour, name: str, **fields: Any) -> None:
        """Create a pod on the node of a release."""
        where = {"kubernetes.io/hostname": on.node}
        self.stage.create(name, scheduler=on.scheduler, node_selector=where, **fields)

    def until_bound(self, on: Neighbour, name: str) -> None:
        """Wait until a pod has its node."""
        self.until(lambda: self.stage.node_of(name), f"{name} has a node", on)

    def is_ready(self, profile: str) -> bool:
        """Tell whether the scheduler runs what a profile says now."""
        found = self.admin.find(f"{PROFILES}/{profile}") or {}
        generation = found.get("metadata", {}).get("generation")
        conditions = found.get("status", {}).get("conditions", ())
        return ("Ready", "True", generation) in [
            (each["type"], each["status"], each["observedGeneration"]) for each in conditions
        ]

    def everything(self) -> None:
        """Play all scenes; the one that replaces the scheduler's pods is the last."""
        for each in self.neighbours.all:
            self.until(partial(self.is_ready, each.scheduler), f"{each.scheduler} is Ready", each)
        for scene in (
            self.a_bind_without_an_answer,
            self.a_pod_that_is_tried_again_and_again,
            self.a_group_that_is_scheduled,
            self.evictions,
            self.volumes,
            self.devices,
            self.a_lease_that_is_deleted,
            self.somebody_reads_the_metrics,
            self.somebody_reads_the_profiles,
            self.objects_of_controllers,
            self.values_that_change,
            self.a_profile_with_nodes_of_its_own,
            self.a_plugin_file_that_is_broken,
            self.a_profile_of_the_clusters_own_name,
            self.a_configuration_that_is_deleted,
            self.a_change_that_needs_new_pods,
        ):
            scene()

    # ------------------------------------------------------------------------------------------------- the scheduler

    def a_bind_without_an_answer(self) -> None:
        """The scheduler has to look at the pod itself."""
        plain = self.neighbours.plain
        cut: list[str] = []

        def plan(method: str, target: str) -> Trouble | None:
            if cut or not is_bind(method, target):
                return None
            cut.append(target)
            return Trouble(fault=Fault.CUT_BEFORE)

        self.neighbours.proxy.plan = plan
        self.create(plain, "unanswered")
        self.until_bound(plain, "unanswered")
        assert cut

    def a_pod_that_is_tried_again_and_again(self) -> None:
        """Its events become a series."""
        plain = self.neighbours.plain
        for name, cpu in (("there", "1500m"), ("small-1", "100m"), ("small-2", "100m")):
            self.create(plain, name, cpu=cpu)
            self.until_bound(plain, name)
        self.create(plain, "again", cpu=2)
        for times, leaving in enumerate(("small-1", "small-2", ""), start=1):
            self.stage.until_told("again", "FailedScheduling", times)
            if leaving:
                self.stage.delete(leaving, gracePeriodSeconds=0)
        for name in ("again", "there", "unanswered"):  # the others need the room
            self.stage.delete(name, gracePeriodSeconds=0)

    def a_group_that_is_scheduled(self) -> None:
        """One of Kubernetes' own is told so."""
        gangs = self.neighbours.with_plugin("Coscheduling")
        groups = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{PLAY}/podgroups"
        spec = {"schedulingPolicy": {"gang": {"minCount": 1}}}
        self.admin.post(groups, {"metadata": {"name": "native"}, "spec": spec})
        self.create(gangs, "grouped", spec={"schedulingGroup": {"podGroupName": "native"}})
        self.until_bound(gangs, "grouped")
        told = partial(self.admin.get, f"{groups}/native")
        self.until(lambda: told().get("status", {}).get("conditions"), "the group is told", gangs)
        self.stage.delete("grouped", gracePeriodSeconds=0)  # the others need the room

    def evictions(self) -> None:
        """Every plugin that evicts makes room for an urgent pod."""
        evicting = self.neighbours.may_evict()
        for each in evicting:
            self.create(each, f"{each.scheduler}-victim", cpu=2)
        for each in evicting:
            self.until_bound(each, f"{each.scheduler}-victim")
            self.create(each, f"{each.scheduler}-urgent", cpu=2, priority_class=URGENT)
        for each in evicting:
            self.until_bound(each, f"{each.scheduler}-urgent")

    def volumes(self) -> None:
        """A volume that is there gets its claim, and a claim that waits for a volume its node."""
        binding = self.neighbours.with_plugin("VolumeBinding")
        for name, provisioner in (("found", "kubernetes.io/no-provisioner"), ("made", "example.com/maker")):
            self.kubectl.create(storage_class(name, provisioner), claim(name))
            self.create(binding, f"with-{name}", spec=claim_volumes(name))
        self.kubectl.create(volume("found", binding.node))
        self.until_bound(binding, "with-found")

        def chosen() -> object:
            found = self.admin.get(f"/api/v1/namespaces/{PLAY}/persistentvolumeclaims/made")
            return found["metadata"].get("annotations", {}).get(SELECTED_NODE)

        self.until(chosen, "a node is chosen for the volume", binding)

    def devices(self) -> None:
        """A claim whose parameters clients that speak JSON would change is written in other ways than most."""
        plain = self.neighbours.plain
        self.kubectl.create(device_class("devices"), devices_of(plain.node, "first", "second"))
        for name, parameters in (("usual", '{"a":1}'), ("odd", '{ "a" : null }')):
            file = self.neighbours.folder / f"{name}-claim.json"
            file.write_text(json.dumps(device_claim(name)).replace('"HERE"', parameters))
            path = f"/apis/resource.k8s.io/v1/namespaces/{PLAY}/resourceclaims"
            self.kubectl("create", "--raw", path, "-f", str(file))  # as it is, to the byte
            entry = {"name": "device", "resourceClaimName": name}
            self.create(plain, f"with-{name}-device", spec={"resourceClaims": [entry]})
            self.until_bound(plain, f"with-{name}-device")

    def a_lease_that_is_deleted(self) -> None:
        """Whoever leads makes it again."""
        plain = self.neighbours.plain
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/plain-pilotage-scheduler"
        self.admin.delete(path)
        self.until(lambda: self.admin.find(path), "the lease is there again", plain)

    def somebody_reads_the_metrics(self) -> None:
        """Who that is, and whether they may, is asked for."""
        self.get(self.neighbours.port, "/metrics")

    def somebody_reads_the_profiles(self) -> None:
        """The scheduler reads them for a user who may do so."""
        reader = f"{READER['namespace']}:{READER['name']}"
        words = ("clusterrole", "profiles", "--verb=list", "--resource=schedulerprofiles.pilotage.dev")
        self.kubectl("create", *words)
        self.kubectl("create", "clusterrolebinding", "profiles", "--clusterrole=profiles", f"--serviceaccount={reader}")
        self.get(self.neighbours.api_port, "/pilotage/v1/profiles")

    def get(self, port: int, path: str) -> None:
        """Read a page of the plain release's scheduler."""
        token = self.kubectl("create", "token", READER["name"], "-n", PLAY).strip()
        # The certificate is one that the scheduler made for itself a moment ago.
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        with closing(http.client.HTTPSConnection("127.0.0.1", port, context=tls)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            assert connection.getresponse().status == http.HTTPStatus.OK

    # ------------------------------------------------------------------------------------------------- the operator

    def objects_of_controllers(self) -> None:
        """Each controller writes the status of an object and tells of it; the others do what else they are for."""
        nodes = [each.node for each in self.neighbours.all[:2]]
        way = f"netperf.p90.latency.milliseconds.origin.{nodes[0]}.destination.{nodes[1]}"
        measured = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "measured"}, "data": {way: "5"}}
        # Only what is wrong with some of them is told by events: a part that is missing, and a ConfigMap that is.
        shop = {**SHOP, "spec": {**SHOP["spec"], "workloads": SHOP["spec"]["workloads"][1:]}}
        network = {**NETWORK, "metadata": {"name": "far"}, "spec": {**NETWORK["spec"], "configmapName": "measured"}}
        self.kubectl("create", "-n", PLAY, "-f", "-", stdin=listed(measured, shop, NETWORK, network, *KEPT))
        self.stage.create("member", labels={"scheduling.x-k8s.io/pod-group": "gang"}, node=nodes[0])
        for each in self.neighbours.all:
            if each.controller:
                self.until(partial(self.is_told, each.controller), f"{each.controller} is told of", each)
        self.a_job_that_is_suspended()
        self.a_group_whose_member_fails(nodes[0])

    def is_told(self, kind: str) -> bool:
        """Tell whether all objects of a kind have a status, and one an event."""
        kept = json.loads(self.kubectl("get", PLURALS[kind], "-n", PLAY, "-o", "json"))["items"]
        events = self.admin.get(f"/apis/events.k8s.io/v1/namespaces/{PLAY}/events")["items"]
        return all("status" in each for each in kept) and kind in [event["regarding"].get("kind") for event in events]

    def a_job_that_is_suspended(self) -> None:
        """Its pod goes."""
        [owner] = [each for each in self.neighbours.all if each.controller == "StickyJob"]
        self.until(lambda: self.stage.pod("job"), "the job has its pod", owner)
        self.admin.patch(f"/apis/pilotage.dev/v1alpha1/namespaces/{PLAY}/stickyjobs/job", {"spec": {"suspend": True}})
        self.until(lambda: self.stage.pod("job") is None, "the pod of the job is gone", owner)

    def a_group_whose_member_fails(self, node: str) -> None:
        """The other one is deleted, once it is old enough; the group itself stands for who would make it again."""
        [restarting] = [each for each in self.neighbours.all if each.controller == "PodGroup"]
        group = self.admin.get(f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{PLAY}/podgroups/again")
        owner = {key: group[key] for key in ("apiVersion", "kind")} | {"name": "again", "controller": True}
        owner["uid"] = group["metadata"]["uid"]
        for name in ("fails", "goes"):
            labels = {"scheduling.x-k8s.io/pod-group": "again"}
            self.stage.create(name, labels=labels, node=node, owners=[owner])
        later = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        failed = {"type": "Ready", "status": "False", "lastTransitionTime": later}
        change = {"status": {"phase": "Failed", "conditions": [failed]}}
        path = f"/api/v1/namespaces/{PLAY}/pods/fails/status"
        self.admin.patch(path, change, "application/strategic-merge-patch+json")
        self.until(lambda: self.stage.pod("goes") is None, "the pod beside the one that failed is gone", restarting)

    def values_that_change(self) -> None:
        """The second profile of the values is changed, then dropped."""
        plain = self.neighbours.plain
        file = self.neighbours.folder / "plain-values" / "profiles.yaml"
        first, second = yaml.safe_load(file.read_text())
        second["spec"]["plugins"] = [{"name": "ImageLocality"}]
        file.write_text(yaml.safe_dump([first, second]))
        self.make_a_round()
        self.until(lambda: "plugins" in self.admin.get(f"{PROFILES}/second")["spec"], "it is changed", plain)
        self.until(lambda: self.is_ready("second"), "it runs", plain)
        file.write_text(yaml.safe_dump([first]))
        self.make_a_round()
        self.until(lambda: self.admin.find(f"{PROFILES}/second") is None, "it is gone", plain)

    def a_profile_with_nodes_of_its_own(self) -> None:
        """The operator counts and taints them, until the profile is gone."""
        plain, labels = self.neighbours.plain, {"example.com/scheduler": "keeper"}
        self.neighbours.control_plane.fake_nodes([node_manifest("kept", labels=labels)])
        profile = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": "keeper"}}
        nodes = {"selector": {"matchLabels": labels}, "taint": True}
        spec = {"instance": f"{self.namespace}/plain", "base": "None", "nodes": nodes}
        self.kubectl.create(profile | {"spec": spec})
        path, tainted = f"{PROFILES}/keeper", {"matched": 1, "tainted": 1}
        self.until(lambda: self.admin.get(path).get("status", {}).get("nodes") == tainted, "a node is tainted", plain)
        self.admin.delete(path)

        def taints() -> list[str]:
            return [each["key"] for each in self.admin.get("/api/v1/nodes/kept")["spec"].get("taints", ())]

        self.until(lambda: TAINT not in taints(), "the taint is gone with the profile", plain)

    def a_plugin_file_that_is_broken(self) -> None:
        """An event of its ConfigMap says so; in the plain release no controller's right allows to write it."""
        plain = self.neighbours.plain
        metadata = {"name": "broken", "namespace": self.namespace, "labels": {PLUGINS_LABEL: plain.release.name}}
        data = {"broken.py": "no Python"}
        self.kubectl.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

        def told() -> list[str]:
            events = self.admin.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
            return [event["reason"] for event in events if event["regarding"].get("name") == "broken"]

        self.until(lambda: "BrokenPlugin" in told(), "the ConfigMap is told of", plain)
        self.admin.delete(f"/api/v1/namespaces/{self.namespace}/configmaps/broken")

    def a_profile_of_the_clusters_own_name(self) -> None:
        """The operator looks whether kube-scheduler leads; the profile itself cannot run, and takes no pods from it."""
        spec = {"schedulerName": "default-scheduler", "plugins": [{"name": "Nobody"}]}
        profile = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": "shared"}}
        metadata = {"name": "kube-scheduler", "namespace": "kube-system"}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
        self.kubectl.create(lease, profile | {"spec": {"instance": f"{self.namespace}/plain", **spec}})
        path = f"{PROFILES}/shared"
        self.until(lambda: self.admin.get(path).get("status"), "somebody has looked at it", self.neighbours.plain)
        self.admin.delete(path)

    def make_a_round(self) -> None:
        """Have the operator look at everything; a kubelet that brings a new file would start a new one."""
        self.admin.patch(f"{PROFILES}/plain", {"metadata": {"annotations": {"look": uuid.uuid4().hex}}})

    def a_configuration_that_is_deleted(self) -> None:
        """The operator makes it again."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/plain-pilotage-config"
        self.admin.delete(path)
        self.until(lambda: self.admin.find(path), "there is a configuration again", self.neighbours.plain)

    def a_change_that_needs_new_pods(self) -> None:
        """The operator changes the Deployment."""
        plugins = [*self.admin.get(f"{PROFILES}/plain")["spec"]["plugins"], {"name": "NodeResourcesAllocatable"}]
        self.admin.patch(f"{PROFILES}/plain", {"spec": {"rollout": {"strategy": "Restart"}, "plugins": plugins}})
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/plain-pilotage-scheduler"

        def stamp() -> object:
            template = self.admin.get(path)["spec"]["template"]
            return template["metadata"].get("annotations", {}).get(HASH)

        self.until(stamp, "the scheduler's pods are replaced", self.neighbours.plain)


def listed(*manifests: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


def storage_class(name: str, provisioner: str) -> dict[str, Any]:
    fields = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, **fields}


def claim(name: str) -> dict[str, Any]:
    spec = {
        "storageClassName": name,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    metadata = {"name": name, "namespace": PLAY}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def device_class(name: str) -> dict[str, Any]:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": {}}


def devices_of(node: str, *devices: str) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    each = [{"name": name} for name in devices]
    spec = {"driver": "devices.example.com", "nodeName": node, "pool": pool, "devices": each}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def device_claim(name: str) -> dict[str, Any]:
    request = {"name": "one", "exactly": {"deviceClassName": "devices"}}
    config = {"opaque": {"driver": "devices.example.com", "parameters": "HERE"}}
    spec = {"devices": {"requests": [request], "config": [config]}}
    metadata = {"name": name, "namespace": PLAY}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def volume(name: str, node: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": name,
        "local": {"path": "/mnt"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
