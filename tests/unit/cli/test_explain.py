"""`pilotage explain`: what it tells about a pod of a cluster, and why it cannot."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from click.testing import CliRunner, Result

from kit.small_api import SmallApi, small_api
from kit.stand_in_kubectl import config
from pilotage.app import cluster_reading
from pilotage.cli import main
from pilotage.config.handshake import CONFIGURATION as KEY
from pilotage.config.handshake import PluginFile, unit_data
from pilotage.testing import node_manifest, pod_manifest
from pilotage.testing.storage import claim_volumes

NOT_HELPFUL = "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
WAITS = f"0/2 nodes are available: 2 Insufficient cpu. preemption: {NOT_HELPFUL}"
BATCH = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: batch, plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]
"""


class World:
    """A cluster of two nodes with two cores each, and the program."""

    def __init__(self, api: SmallApi, folder: Path) -> None:
        self.api, self.folder = api, folder
        for name in ("n1", "n2"):
            api.put("nodes", node_manifest(name, cpu="2", memory="4Gi", fake=False))

    def pod(self, name: str, **fields: Any) -> None:
        status, metadata = fields.pop("status", {}), fields.pop("metadata", {})
        manifest = pod_manifest(name, **{"namespace": "default", **fields})
        manifest["metadata"] |= metadata
        self.api.put("pods", manifest | {"status": status})

    def config_map(self, text: str, key: str = KEY) -> None:
        self.api.put("configmaps", {"metadata": {"name": "config", "namespace": "pilotage"}, "data": {key: text}})

    def group(self, name: str, minimum: int, *, native: bool = False) -> None:
        spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}} if native else {"minMember": minimum}
        kind = "podgroups.scheduling.k8s.io" if native else "podgroups.scheduling.x-k8s.io"
        self.api.put(kind, {"metadata": {"name": name, "namespace": "lab"}, "spec": spec})

    def event(self, reason: str, pod: str, uid: str, message: str, at: str) -> None:
        about = {"kind": "Pod", "name": pod, "uid": uid}
        metadata = {"name": f"{pod}.{uid}.{reason}", "namespace": "default", "creationTimestamp": at}
        self.api.put("events", {"metadata": metadata, "involvedObject": about, "reason": reason, "message": message})

    async def explain(self, *words: str, url: str = "", namespace: str = "") -> Result:
        file = self.folder / "kubeconfig"
        file.write_text(yaml.safe_dump(config(url or self.api.url, {}, namespace)))
        arguments = ["explain", "--kubeconfig", str(file), *words]
        result = await asyncio.to_thread(CliRunner().invoke, main, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with small_api() as api:
        yield World(api, tmp_path)


async def test_a_pod_that_waits(world: World) -> None:
    world.pod("web", cpu="3")
    result = await world.explain("web")
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        f"web  waits: {WAITS}",
        "  NODE  FITS  BECAUSE",
        "  n1    no    NodeResourcesFit: Insufficient cpu (wants 3, 2 of 2 free)",
        "  n2    no    NodeResourcesFit: Insufficient cpu (wants 3, 2 of 2 free)",
        "  What would help, each tried on this cluster (-o yaml has the patches):",
        "    owner: ask for cpu 2 instead of 3 (no node is that large: the largest has 2): fits on 2 nodes, such as n1",
    ]


async def test_remedies_come_with_their_patches(world: World) -> None:
    world.pod("web", cpu="3")
    (remedy,) = json.loads((await world.explain("web", "-o", "json")).stdout)["remedies"]
    requests = {"requests": {"cpu": "2"}}
    assert remedy["patch"] == {"spec": {"containers": [{"name": "main", "resources": requests}]}}
    assert remedy["target"] == {
        "kind": "Pod",
        "group": "",
        "namespace": "default",
        "name": "web",
        "patchType": "strategic",
    }
    assert (remedy["code"], remedy["actor"], remedy["verified"], remedy["nodes"]) == ("reduceRequest", "owner", True, 2)
    without = json.loads((await world.explain("web", "-o", "json", "--no-remedies")).stdout)
    assert without["remedies"] == []


async def test_a_higher_priority_is_offered_to_those_who_may_read_classes(world: World) -> None:
    world.pod("old", cpu="2", node="n1")
    world.pod("older", cpu="2", node="n2")
    world.pod("web", cpu="2")
    offered = "give it the priority class high (100 instead of 0): default/older would be evicted from n2"
    assert offered not in (await world.explain("web")).stdout
    world.api.put("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 100})
    assert offered in (await world.explain("web")).stdout
    world.api.refusals["/apis/scheduling.k8s.io/v1/priorityclasses"] = 403
    result = await world.explain("web")
    assert offered not in result.stdout
    assert "What would help" in result.stdout, "all else is there"


async def test_a_node_is_compared_with_the_one_of_the_pod(world: World) -> None:
    world.pod("old", cpu="1", node="n2")
    world.pod("web", cpu="500m", node="n2")
    result = await world.explain("web", "--why-not", "n1")
    assert result.stdout.splitlines()[-1].startswith("  n1 is now better than n2 by ")
    found = json.loads((await world.explain("web", "--why-not", "n9", "-o", "json")).stdout)["whyNot"]
    assert found["text"] == "there is no node n9"


async def test_nothing_is_written(world: World) -> None:
    world.pod("web", cpu="1")
    assert (await world.explain("web")).exit_code == 0
    assert {method for method, _ in world.api.requests} == {"GET"}


async def test_a_pod_that_has_a_node_is_decided_about_as_if_it_had_none(world: World) -> None:
    world.pod("old", cpu="1", node="n2")
    world.pod("web", cpu="1500m", node="n1")
    result = await world.explain("web")
    assert result.exit_code == 0
    assert result.stdout.startswith("web  is on n1; if scheduled again now, it goes to n1\n")
    assert "NodeResourcesFit: Insufficient cpu (wants 1.5, 1 of 2 free)" in result.stdout


async def test_one_that_would_not_fit_any_more_still_has_its_node(world: World) -> None:
    world.pod("web", cpu="3", node="n1")
    result = await world.explain("web")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"web  is on n1; if scheduled again now, it waits: {WAITS}\n")


async def test_what_is_nominated_to_others_counts(world: World) -> None:
    world.pod("first", cpu="2", status={"nominatedNodeName": "n1"})
    world.pod("other", cpu="2", node="n2")
    world.pod("web", cpu="1")
    result = await world.explain("web")
    assert result.exit_code == 3
    assert "web  waits: 0/2 nodes are available: 2 Insufficient cpu." in result.stdout


async def test_what_its_scheduler_said_last(world: World) -> None:
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: long ago"}
    world.pod("web", cpu="1", status={"conditions": [told]})
    result = await world.explain("web")
    assert result.stdout.splitlines()[1] == "  Its status says: 0/1 nodes: long ago"


async def test_a_pod_at_the_gate(world: World) -> None:
    world.pod("web", spec={"schedulingGates": [{"name": "later"}]})
    result = await world.explain("web")
    assert result.exit_code == 3
    first, *others = result.stdout.splitlines()
    assert first == "web  waits: waiting for scheduling gates: [later]"
    assert [line.split()[:2] for line in others[1:3]] == [["n1", "yes"], ["n2", "yes"]], "without the gate"
    assert others[-2:] == [
        "  What would help, each tried on this cluster (-o yaml has the patches):",
        "    owner: remove the scheduling gate later, or wait until the controller that set it does: "
        "fits on 2 nodes, such as n1",
    ]


async def test_a_pod_that_does_not_fit_behind_its_gate(world: World) -> None:
    world.pod("web", cpu="3", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
    assert (await world.explain("web")).stdout.splitlines()[-3:] == [
        "  Without the gate the pod would wait: 0/2 nodes are available: 2 Insufficient cpu.",
        "  What would help, each tried on this cluster (-o yaml has the patches):",
        "    owner: wait until Kueue removes the scheduling gate kueue.x-k8s.io/admission, and "
        "ask for cpu 2 instead of 3 (no node is that large: the largest has 2): fits on 2 nodes, such as n1",
    ]


async def test_what_cannot_be_tried_is_told_apart(world: World) -> None:
    world.pod("web", spec=claim_volumes("data"))
    assert (await world.explain("web")).stdout.splitlines()[-2:] == [
        "  What may help:",
        "    owner: create the PersistentVolumeClaim default/data (not tried: what it would ask for is not known)",
    ]


async def test_an_api_server_that_is_not_ready_is_asked_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = "/api/v1/nodes"
    world.pod("web", cpu="3")
    world.api.refusals[nodes] = 429
    monkeypatch.setattr(cluster_reading, "PAUSES", (0.0, 0.0))
    refused = await world.explain("web")
    assert (refused.exit_code, world.api.requests.count(("GET", nodes))) == (2, 3)
    monkeypatch.setattr(cluster_reading, "PAUSES", (0.05,) * 200)
    asking = asyncio.create_task(world.explain("web"))
    while world.api.requests.count(("GET", nodes)) < 5:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    del world.api.refusals[nodes]
    assert (await asking).exit_code == 3


async def test_for_programs(world: World) -> None:
    world.pod("web", namespace="shop", cpu="1", node="n2")
    result = await world.explain("shop/web", "-o", "json")
    found = json.loads(result.stdout)
    assert (found["namespace"], found["currentNode"], found["statusMessage"]) == ("shop", "n2", "")
    assert [node["node"] for node in found["nodes"]] == ["n1", "n2"]


async def test_a_pod_that_is_being_deleted_is_no_longer_placed(world: World) -> None:
    world.pod("web", cpu="1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert "note: the pod is being deleted and will not be scheduled" in (await world.explain("web")).stderr


@pytest.mark.parametrize(
    ("words", "namespace", "key"),
    [
        pytest.param(["web"], "", "default/web", id="nothing is said"),
        pytest.param(["web"], "shop", "shop/web", id="the context says it"),
        pytest.param(["web", "-n", "lab"], "shop", "lab/web", id="an option goes before the context"),
        pytest.param(["lab/web"], "shop", "lab/web", id="so does the name"),
        pytest.param(["lab/web", "-n", "lab"], "shop", "lab/web", id="both say the same"),
    ],
)
async def test_the_namespace(world: World, words: list[str], namespace: str, key: str) -> None:
    for place in ("default", "shop", "lab"):
        world.pod("web", namespace=place, cpu="1")
    found = json.loads((await world.explain(*words, "-o", "json", namespace=namespace)).stdout)
    assert f"{found['namespace']}/{found['name']}" == key


class TestGangs:
    """A table of nodes tells of one pod; what it waits for besides is said above it."""

    CONFIG = """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        profiles: [{schedulerName: gangs, plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}}]
    """
    GROUPED: ClassVar = {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}
    NATIVE: ClassVar = {"spec": {"schedulingGroup": {"podGroupName": "train"}}}
    LABELLED: ClassVar = {
        "labels": {"pod-group.pilotage.dev/name": "train", "pod-group.pilotage.dev/min-available": "4"}
    }
    OURS = "PodGroup lab/train (scheduling.x-k8s.io)"

    async def told(self, world: World, *words: str) -> list[str]:
        world.config_map(self.CONFIG)
        result = await world.explain("lab/a", *words)
        assert result.exit_code == 3, result.stderr
        return result.stdout.splitlines()

    def member(self, world: World, name: str, **fields: Any) -> None:
        world.pod(name, **{"namespace": "lab", "scheduler": "gangs", "cpu": "1", **fields})

    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            pytest.param(
                GROUPED,
                f"{OURS}: 4 must be placed at once, 2 exist; "
                "see kubectl get pods -n lab -l scheduling.x-k8s.io/pod-group=train",
                id="a PodGroup of scheduling.x-k8s.io",
            ),
            pytest.param(
                NATIVE,
                "PodGroup lab/train (scheduling.k8s.io): 4 must be placed at once, 2 exist; "
                "see kubectl describe podgroups.scheduling.k8s.io train -n lab",
                id="one of Kubernetes",
            ),
            pytest.param(
                LABELLED,
                "the group lab/train (label pod-group.pilotage.dev/name): 4 must be placed at once, 2 exist; "
                "see kubectl get pods -n lab -l pod-group.pilotage.dev/name=train",
                id="labels alone",
            ),
        ],
    )
    async def test_siblings_are_missing(self, world: World, fields: dict[str, Any], told: str) -> None:
        world.group("train", 4, native=fields is self.NATIVE)
        for name in "ab":
            self.member(world, name, **fields)
        lines = await self.told(world)
        assert lines[1] == f"  It fits alone, but waits for 2 more pods of {told}"
        assert lines[2].split() == ["NODE", "FITS", "BECAUSE", *lines[2].split()[3:]]

    async def test_siblings_are_at_their_gates(self, world: World) -> None:
        world.group("train", 2)
        self.member(world, "a", **self.GROUPED)
        self.member(world, "b", **self.GROUPED, spec={"schedulingGates": [{"name": "later"}]})
        assert (await self.told(world))[1].startswith(
            f"  It fits alone, but waits for 1 more pod of {self.OURS}, held by scheduling gates: "
        )

    async def test_not_all_fit(self, world: World) -> None:
        world.group("train", 3)
        for name in "abc":
            self.member(world, name, cpu="1500m", **self.GROUPED)
        assert (await self.told(world))[1] == (
            f"  It fits alone, but waits for the rest of {self.OURS}: 3 must be placed at once, 2 can"
        )

    async def test_another_member_is_in_the_way(self, world: World) -> None:
        world.group("train", 2)
        self.member(world, "a", **self.GROUPED)
        self.member(world, "large", cpu="3", **self.GROUPED)
        assert (await self.told(world))[1].endswith("2 must be placed at once, 0 can; see pilotage explain lab/large")

    async def test_it_does_not_fit_itself(self, world: World) -> None:
        world.group("train", 2)
        self.member(world, "a", cpu="3", **self.GROUPED)
        assert (await self.told(world))[1].startswith("  It does not fit even alone, and waits for 1 more pod of ")

    async def test_for_programs(self, world: World) -> None:
        world.group("train", 4)
        self.member(world, "a", **self.GROUPED)
        found = json.loads("\n".join(await self.told(world, "-o", "json")))
        assert found["gang"] == {
            "source": "scheduling.x-k8s.io",
            "namespace": "lab",
            "name": "train",
            "needed": 4,
            "waiting": 1,
            "gated": 0,
            "fitting": None,
            "blocker": "",
        }

    async def test_a_group_that_is_whole_has_nothing_to_wait_for(self, world: World) -> None:
        world.config_map(self.CONFIG)
        world.group("train", 2)
        self.member(world, "b", node="n1", **self.GROUPED)
        self.member(world, "a", node="n2", **self.GROUPED)
        result = await world.explain("lab/a")
        assert result.exit_code == 0
        assert "waits" not in result.stdout

    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            pytest.param(GROUPED, "schedules each pod alone\n", id="a PodGroup of scheduling.x-k8s.io"),
            pytest.param(NATIVE, "schedules each pod alone; kube-scheduler waits for the others", id="of Kubernetes"),
        ],
    )
    async def test_nobody_looks_at_groups(self, world: World, fields: dict[str, Any], told: str) -> None:
        world.pod("a", namespace="lab", cpu="1", **fields)
        result = await world.explain("lab/a")
        assert result.exit_code == 0
        assert f"note: the pod belongs to the group lab/train, but its profile {told}" in result.stderr


class TestPlacesOfPredecessors:
    """Sticky brings pods back; the scheduler has seen where from, and a reader finds out what it can."""

    CONFIG = """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        profiles:
        - schedulerName: sticky
          plugins: {multiPoint: {enabled: [{name: Sticky}]}}
          pluginConfig: [{name: Sticky, args: {mode: Require}}]
    """
    RETURNS = "(returns to n1)"
    HASH: ClassVar = {"pod-template-hash": "77c9"}

    def replica(self, world: World, name: str, created: str = "2026-01-01T10:00:00Z", **fields: Any) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-77c9", "uid": "rs", "controller": True}
        about = {"ownerReferences": [owner], "creationTimestamp": created, **fields.pop("metadata", {})}
        world.pod(name, scheduler="sticky", cpu="1", labels=self.HASH, metadata=about, **fields)

    async def told(self, world: World) -> str:
        world.config_map(self.CONFIG)
        result = await world.explain("web-77c9-now00")
        assert result.exit_code in (0, 3), result.stderr
        return result.stdout

    async def test_a_pod_that_runs_would_return_to_its_node(self, world: World) -> None:
        self.replica(world, "web-77c9-now00", node="n1")
        assert (await self.told(world)).startswith("web-77c9-now00  is on n1; if scheduled again now, it goes to n1\n")

    async def test_one_that_leaves(self, world: World) -> None:
        leaving = {"deletionTimestamp": "2026-01-01T11:00:30Z", "deletionGracePeriodSeconds": 30}
        self.replica(world, "web-77c9-old00", node="n1", metadata=leaving)
        self.replica(world, "web-77c9-now00", created="2026-01-01T11:00:00Z")
        assert self.RETURNS in await self.told(world)

    async def test_one_that_leaves_and_was_replaced(self, world: World) -> None:
        """The replica that took its place is listed before it, and was made in the same second."""
        leaving = {"deletionTimestamp": "2026-01-01T11:00:30Z", "deletionGracePeriodSeconds": 30}
        self.replica(world, "web-77c9-heir0", created="2026-01-01T11:00:00Z", node="n2")
        self.replica(world, "web-77c9-old00", node="n1", metadata=leaving)
        self.replica(world, "web-77c9-now00", created="2026-01-01T12:00:00Z")
        assert self.RETURNS not in await self.told(world)

    async def test_one_that_has_ended(self, world: World) -> None:
        self.replica(world, "web-77c9-old00", node="n1", status={"phase": "Failed"})
        self.replica(world, "web-77c9-now00", created="2026-01-01T11:00:00Z")
        assert self.RETURNS in await self.told(world)

    @pytest.mark.parametrize(
        ("pod", "returns"),
        [
            pytest.param("web-77c9-old00", True, id="of its replica set"),
            pytest.param("web-5f4d-old00", True, id="of an earlier version of its deployment"),
            pytest.param("web-two-77c9-old00", False, id="of a deployment with a longer name"),
            pytest.param("web-0", False, id="of somebody else"),
        ],
    )
    async def test_one_that_is_gone_and_whose_event_is_there(self, world: World, pod: str, returns: bool) -> None:
        world.event("Scheduled", pod, "gone", f"Successfully assigned default/{pod} to n1", "2026-01-01T10:00:00Z")
        self.replica(world, "web-77c9-now00", created="2026-01-01T11:00:00Z")
        assert (self.RETURNS in await self.told(world)) is returns

    async def test_only_the_last_of_a_chain(self, world: World) -> None:
        for pod, node, hour in (("web-77c9-old01", "n2", 10), ("web-77c9-old02", "n1", 11)):
            at = f"2026-01-01T{hour}:00:00Z"
            world.event("Scheduled", pod, pod, f"Successfully assigned default/{pod} to {node}", at)
            world.event("Killing", pod, pod, "Stopping container c", f"2026-01-01T{hour}:59:59Z")
        self.replica(world, "web-77c9-now00", created="2026-01-01T12:00:00Z")
        assert self.RETURNS in await self.told(world)

    async def test_one_of_which_nothing_is_left(self, world: World) -> None:
        said = "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Sticky]."
        told = {"type": "PodScheduled", "status": "False", "message": said}
        self.replica(world, "web-77c9-now00", status={"conditions": [told]})
        world.config_map(self.CONFIG)
        result = await world.explain("web-77c9-now00")
        assert "note: Sticky of the scheduler remembers where the pod's predecessor ran, which neither" in result.stderr


@pytest.mark.parametrize(
    ("extenders", "plugins", "told"),
    [
        pytest.param("", "", "", id="neither"),
        pytest.param(
            "extenders: [{urlPrefix: 'http://x', filterVerb: f}]", "", "the configuration's extenders", id="one"
        ),
        pytest.param(
            "", "{name: TargetLoadPacking}", "how busy nodes are (TargetLoadPacking prefers no node here)", id="load"
        ),
        pytest.param(
            "extenders: [{urlPrefix: 'http://x', filterVerb: f}]",
            "{name: TargetLoadPacking}, {name: Peaks}",
            "the configuration's extenders and how busy nodes are (TargetLoadPacking, Peaks prefer no node here)",
            id="both",
        ),
    ],
)
async def test_figures_that_are_not_asked_for(world: World, extenders: str, plugins: str, told: str) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    world.config_map(
        f"{head}{extenders}\nprofiles: [{{schedulerName: s, plugins: {{multiPoint: {{enabled: [{plugins}]}}}}}}]"
    )
    world.pod("web", scheduler="s")
    result = await world.explain("web")
    assert result.stderr == (f"note: not considered: {told}; the scheduler may decide differently\n" if told else "")


class TestWhoDecides:
    """The configuration of the pod's scheduler."""

    async def test_the_one_that_an_operator_wrote(self, world: World) -> None:
        world.config_map(BATCH)
        world.pod("web", cpu="3", scheduler="batch")
        assert (await world.explain("web")).exit_code == 0  # batch does not look at resources

    async def test_a_named_config_map(self, world: World) -> None:
        world.config_map(BATCH)
        world.pod("web", cpu="3", scheduler="batch")
        assert (await world.explain("web", "--config-map", "pilotage/config")).exit_code == 0

    async def test_a_file(self, world: World) -> None:
        file = world.folder / "batch.yaml"
        file.write_text(BATCH)
        world.pod("web", cpu="3", scheduler="batch")
        assert (await world.explain("web", "--config", str(file))).exit_code == 0

    async def test_a_scheduler_profile(self, world: World) -> None:
        head = "apiVersion: pilotage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: batch}\n"
        file = world.folder / "profile.yaml"
        file.write_text(head + "spec: {plugins: [{name: NodeResourcesFit, enabled: false}]}\n")
        world.pod("web", cpu="3", scheduler="batch")
        assert (await world.explain("web", "--config", str(file))).exit_code == 0

    async def test_the_default_scheduler_that_is_ours(self, world: World) -> None:
        world.config_map(BATCH.replace("batch", "default-scheduler"))
        world.pod("web", cpu="3")
        assert (await world.explain("web")).exit_code == 0

    async def test_the_default_scheduler_if_nobody_may_look_for_another(self, world: World) -> None:
        world.api.refusals["/api/v1/configmaps"] = 403
        world.pod("web", cpu="3")
        assert (await world.explain("web")).exit_code == 3

    async def test_somebody_elses_that_is_broken_is_no_matter(self, world: World) -> None:
        world.config_map("nonsense: [")
        world.pod("web", cpu="3")
        assert (await world.explain("web")).exit_code == 3


class TestWhatIsInTheWay:
    """Each is told in one line, with what to do."""

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            pytest.param(["wep"], 'there is no pod default/wep, or it has finished; did you mean "web"?', id="a slip"),
            pytest.param(["far"], "there is no pod default/far, or it has finished; there is one in shop", id="far"),
            pytest.param(
                ["zzzzzz"],
                "default/zzzzzz, or it has finished; see kubectl get pods -n default\n",
                id="nothing like it",
            ),
            pytest.param(["odd"], "which no configuration here serves; name the configuration of that", id="unserved"),
            pytest.param(["web", "--config", "/no.yaml"], "/no.yaml", id="no such file"),
            pytest.param(["web", "--config-map", "x"], "--config-map x: write NAMESPACE/NAME", id="no namespace"),
            pytest.param(["web", "--config-map", "a/b"], "the API server rejected the request: 404", id="no map"),
            pytest.param(["web", "--config", "a", "--config-map", "b/c"], "exclude each other", id="two"),
            pytest.param(["web", "--context", "no"], "no", id="no such context"),
            pytest.param(
                ["lab/web", "-n", "other"],
                "lab/web is in the namespace lab, but -n is other; remove one of the two",
                id="two namespaces",
            ),
            pytest.param(["a/b/c"], "a/b/c: write POD or NAMESPACE/POD", id="more than a namespace"),
            pytest.param(["/web"], "/web: write POD or NAMESPACE/POD", id="an empty namespace"),
        ],
    )
    async def test_in_the_question(self, world: World, words: list[str], text: str) -> None:
        world.pod("web")
        world.pod("odd", scheduler="odd-scheduler")
        world.pod("far", namespace="shop")
        result = await world.explain(*words)
        assert result.exit_code == 2
        assert text in result.stderr

    async def test_a_config_map_of_something_else(self, world: World) -> None:
        world.config_map("x", key="other")
        world.pod("web")
        result = await world.explain("web", "--config-map", "pilotage/config")
        assert (result.exit_code, result.stderr) == (2, f"pilotage/config: there is no {KEY} in the ConfigMap\n")

    async def test_a_configuration_for_others(self, world: World) -> None:
        world.config_map(BATCH)
        world.pod("web")
        result = await world.explain("web", "--config-map", "pilotage/config")
        assert result.exit_code == 2
        told = "pod default/web waits for the scheduler default-scheduler, which no configuration here serves"
        assert told in result.stderr
        assert "(there are batch)" in result.stderr

    async def test_no_right_to_look_for_the_configuration(self, world: World) -> None:
        world.api.refusals["/api/v1/configmaps"] = 403
        world.pod("web", scheduler="batch")
        result = await world.explain("web", "--source", "local")
        assert result.exit_code == 2
        assert result.stderr.startswith("you are not allowed to list configmaps in all namespaces; ")
        assert "; or name the configuration of that scheduler with --config FILE" in result.stderr

    async def test_no_right_to_see_nodes(self, world: World) -> None:
        world.api.refusals["/api/v1/nodes"] = 403
        world.pod("web")
        result = await world.explain("web", "--source", "local")
        assert result.exit_code == 2
        assert result.stderr == (
            "you are not allowed to list nodes in all namespaces; kubectl create clusterrolebinding explainer "
            "--clusterrole=pilotage-explainer.pilotage --user=YOU grants all of them (a ClusterRole of the chart; "
            "FULLNAME-explainer.NAMESPACE for another release)\n"
        )

    async def test_without_these_rights_the_status_of_the_pod_tells_what_it_can(self, world: World) -> None:
        world.api.refusals["/api/v1/nodes"] = 403
        said = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."
        told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
        world.pod("web", status={"conditions": [told]})
        result = await world.explain("web")
        assert result.exit_code == 3
        assert result.stdout.splitlines() == [
            f"web  waits: {said}",
            "  PLUGIN            NODES  BECAUSE",
            "  NodeResourcesFit      2  Insufficient cpu",
            "  TaintToleration       1  node(s) had untolerated taint(s)",
        ]
        first, second = result.stderr.splitlines()
        assert first.startswith("note: source: the pod's status, without remedies; no scheduler was asked: there is no")
        assert second.startswith(
            "note: this program could not decide: you are not allowed to list nodes in all namespaces; kubectl create"
        )

    async def test_not_even_the_pod_may_be_seen(self, world: World) -> None:
        world.api.refusals |= {"/api/v1/nodes": 403, "/api/v1/pods": 403, "/api/v1/namespaces": 403}
        world.pod("web")
        result = await world.explain("web")
        assert result.exit_code == 2
        assert result.stderr.startswith("you are not allowed to get the pod default/web, or to list pods, nodes")

    @pytest.mark.parametrize(
        ("refused", "told"),
        [
            pytest.param(
                ["/api/v1/nodes", "/api/v1/services", "/apis/apps/"],
                "you are not allowed to list nodes, services, replicasets.apps, statefulsets.apps in all namespaces; ",
                id="of several kinds",
            ),
            pytest.param(
                ["/api/v1/pods", "/api/v1/nodes", "/apis/policy/"],
                "you are not allowed to list pods, nodes, poddisruptionbudgets.policy in all namespaces; ",
                id="pods too, so that only this one is seen",
            ),
            pytest.param(
                ["/api/v1/pods", "/api/v1/namespaces/default/pods", "/api/v1/configmaps", "/api/v1/nodes"],
                "you are not allowed to get the pod default/web, or to list pods, configmaps, nodes in all namespaces",
                id="not even this one, so that any configuration may be its",
            ),
            pytest.param(
                [
                    "/api/v1/nodes",
                    "/api/v1/services",
                    "/api/v1/persistentvolumes",
                    "/apis/apps/",
                    "/apis/storage.k8s.io/",
                ],
                "you are not allowed to list nodes, persistentvolumes, services, replicasets.apps and ",
                id="of so many kinds that a list of them would hide the rest",
            ),
        ],
    )
    async def test_all_missing_rights_at_once(self, world: World, refused: list[str], told: str) -> None:
        world.api.refusals |= dict.fromkeys(refused, 403)
        world.pod("web")
        result = await world.explain("web", "--source", "local")
        assert result.exit_code == 2
        assert result.stderr.startswith(told)

    async def test_a_right_to_read_what_is_not_there_is_not_missing(self, world: World) -> None:
        world.api.refusals["/apis/policy/v1/poddisruptionbudgets"] = 403  # and the group does not list them
        world.pod("web")
        assert (await world.explain("web")).exit_code == 0

    async def test_no_right_to_read_the_named_configuration(self, world: World) -> None:
        world.api.refusals |= {"/api/v1/namespaces/pilotage/configmaps": 403, "/api/v1/nodes": 403}
        world.pod("web")
        result = await world.explain("web", "--config-map", "pilotage/config")
        assert result.stderr.startswith("you are not allowed to get configmaps or list nodes in all namespaces; ")

    async def test_a_kind_that_is_not_served_has_no_objects(self, world: World) -> None:
        world.api.refusals["/apis/resource.k8s.io"] = 404
        world.pod("web")
        assert (await world.explain("web")).exit_code == 0

    async def test_a_pod_that_cannot_be_understood(self, world: World) -> None:
        world.pod("web", cpu="many")
        result = await world.explain("web")
        assert result.exit_code == 2
        assert "the pod default/web cannot be decoded: " in result.stderr

    async def test_nobody_answers(self, world: World) -> None:
        result = await world.explain("web", url="http://127.0.0.1:1")
        assert result.exit_code == 2
        assert "the API server at http://127.0.0.1:1 does not respond: " in result.stderr


class TestOwners:
    """KIND/NAME: one of each sort of its pods that wait."""

    def replica(
        self, world: World, name: str, kind: str = "ReplicaSet", owner: str = "web-77c9", **fields: Any
    ) -> None:
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "u", "controller": True}
        world.pod(name, labels={"pod-template-hash": "77c9"}, metadata={"ownerReferences": [reference]}, **fields)

    async def test_a_deployment(self, world: World) -> None:
        self.replica(world, "web-77c9-a", cpu="3")
        self.replica(world, "web-77c9-b", cpu="3")
        self.replica(world, "web-77c9-c", cpu="1", node="n1")
        world.pod("other", cpu="3")
        result = await world.explain("deploy/web", "--no-remedies")
        assert result.exit_code == 3
        first, _, like, told, *_ = result.stdout.splitlines()
        assert (first, like) == ("deployment/web: 2 of 3 pods wait", "2 pods like this one:")
        assert told == f"web-77c9-a  waits: {WAITS}"

    async def test_for_programs(self, world: World) -> None:
        self.replica(world, "train-x", "Job", "train", cpu="3")
        found = json.loads((await world.explain("job/train", "-o", "json")).stdout)
        assert (found["of"], found["pods"], found["waiting"]) == ("job/train", 1, 1)
        assert [(each["pods"], each["name"]) for each in found["items"]] == [(1, "train-x")]

    async def test_all_of_them_run(self, world: World) -> None:
        self.replica(world, "web-77c9-c", cpu="1", node="n1")
        result = await world.explain("deploy/web")
        assert (result.exit_code, result.stdout) == (0, "deployment/web: 0 of 1 pods wait\n")

    async def test_there_are_none(self, world: World) -> None:
        result = await world.explain("deploy/web")
        assert result.exit_code == 2
        assert result.stderr == "deployment/web has no pods in default; see kubectl get deployment/web -n default\n"


async def test_a_pod_of_a_file(world: World) -> None:
    file = world.folder / "cluster.json"
    items = [node_manifest("n1", cpu="2"), pod_manifest("web", cpu="3")]
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    result = await world.explain("web", "--source", str(file))
    assert result.exit_code == 3
    assert "NodeResourcesFit: Insufficient cpu (wants 3, 2 of 2 free)" in result.stdout
    assert world.api.requests == []


async def test_many_nodes_are_told_in_groups(world: World) -> None:
    for number in range(60):
        world.api.put("nodes", node_manifest(f"m{number}", cpu="1", fake=False))
    world.pod("web", cpu="3")
    groups = (await world.explain("web", "--no-remedies")).stdout.splitlines()
    assert groups[1:] == [
        "  PLUGIN            NODES  BECAUSE           SUCH AS",
        "  NodeResourcesFit     62  Insufficient cpu  n1",
        "  --nodes shows nodes one by one.",
    ]
    nodes = (await world.explain("web", "--no-remedies", "--nodes")).stdout.splitlines()
    assert (len(nodes), nodes[-1]) == (1 + 1 + 50 + 1, "  12 more nodes are not shown; use --all.")
    assert len((await world.explain("web", "--no-remedies", "--all")).stdout.splitlines()) == 1 + 1 + 62


class TestPluginFiles:
    FILE = PluginFile(
        "mine/ending.py",
        """
from pilotage.framework.api.plugin import Score


class Ending(Score):
    def score(self, cycle, pod, node):
        return 7
""",
    )
    DEADLY = PluginFile("mine/deadly.py", "raise SystemExit('it was imported')")
    CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- {schedulerName: batch, plugins: {multiPoint: {enabled: [{name: Ending}]}}}
- {schedulerName: plain}
- {schedulerName: other, plugins: {multiPoint: {enabled: [{name: Deadly}]}}}
"""

    def unit(self, world: World, *used: str) -> None:
        files = {"batch": (self.FILE,), "other": (self.DEADLY,)}
        data = unit_data(self.CONFIG, {name: each for name, each in files.items() if name in used})
        labels = {"app.kubernetes.io/name": "pilotage", "app.kubernetes.io/managed-by": "pilotage-operator"}
        metadata = {"name": "config", "namespace": "pilotage", "labels": labels}
        world.api.put("configmaps", {"metadata": metadata, "data": data})

    async def test_they_run_only_if_the_user_names_the_config_map(self, world: World) -> None:
        self.unit(world, "batch", "other")
        world.pod("web", scheduler="batch")
        result = await world.explain("web")
        assert result.exit_code == 2
        assert result.stderr == (
            "the profile batch runs plugin files (mine/ending.py), whose code would run here with your rights; if you "
            "trust it, name the ConfigMap that contains it: --config-map pilotage/config\n"
        )

    async def test_a_profile_without_any_is_explained_and_nobody_elses_run(self, world: World) -> None:
        self.unit(world, "batch", "other")
        world.pod("web", scheduler="plain")
        result = await world.explain("web")
        assert result.stderr == ""
        assert result.exit_code in (0, 3)
