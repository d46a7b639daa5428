"""Extenders on a live cluster: they decide as with kube-scheduler, and a sick one harms no pods but its own."""

import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit import playing_extender as parts
from kit.control_plane import ControlPlane, RunningPilotage
from kit.fixtures import Audit, Nodes
from kit.playing_extender import Call, Part, nodes_of, playing, well
from kit.tiers import tiered
from pilotage.testing import node_manifest, pod_manifest

OURS, THEIRS = "pilotage", "kube-scheduler"
FILTERS_AND_SCORES = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 100}
Extender = dict[str, Any]


class Scene:
    """The pods of one test, and the schedulers that they wait for."""

    def __init__(self, control_plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.control_plane, self.namespace = control_plane, namespace
        self.kubectl = control_plane.kubectl
        self._folder = folder

    def ours(self, *extenders: Extender) -> AbstractContextManager[RunningPilotage]:
        """Run our scheduler."""
        return self.control_plane.pilotage(f"--config={self._configuration(OURS, extenders)}")

    def theirs(self, *extenders: Extender) -> AbstractContextManager[Path]:
        """Run the real kube-scheduler."""
        return self.control_plane.kube_scheduler(f"--config={self._configuration(THEIRS, extenders)}")

    def run(self, scheduler: str, *extenders: Extender) -> AbstractContextManager[object]:
        """Run either."""
        return self.ours(*extenders) if scheduler == OURS else self.theirs(*extenders)

    def name_of(self, scheduler: str) -> str:
        """Return the name by which pods ask for a scheduler; no other test has such pods."""
        return f"{self.namespace}-{scheduler}"

    def pod(self, name: str, scheduler: str, *resources: str, **fields: Any) -> dict[str, Any]:
        """Return a pod that asks for resources of extenders."""
        limits = {resource_of(each): 1 for each in resources}
        name_of_scheduler = self.name_of(scheduler)
        return pod_manifest(name, namespace=self.namespace, scheduler=name_of_scheduler, limits=limits, **fields)

    def pods(self) -> dict[str, Any]:
        """Return all pods by name."""
        return {pod["metadata"]["name"]: pod for pod in self.kubectl.get("pods", "-n", self.namespace)["items"]}

    def bound(self) -> dict[str, str]:
        """Return the nodes of all pods that have one."""
        return {name: pod["spec"]["nodeName"] for name, pod in self.pods().items() if pod["spec"].get("nodeName")}

    def until_none(self, missing: Callable[[], Iterable[str]], seconds: float = 90) -> None:
        """Wait until nothing is missing any more."""
        deadline = time.monotonic() + seconds
        while left := list(missing()):
            assert time.monotonic() < deadline, f"not yet: {left}\n{self.control_plane.recent_logs()}"
            time.sleep(0.2)

    def until_bound(self, *names: str) -> dict[str, str]:
        """Wait until all of these pods have a node."""
        self.until_none(lambda: set(names) - set(self.bound()))
        return self.bound()

    def until_told_why(self, *names: str) -> dict[str, tuple[str, str]]:
        """Wait until all of these pods say why they wait: the reason and the message."""
        self.until_none(lambda: set(names) - set(self._told_why()))
        return {name: why for name, why in self._told_why().items() if name in names}

    def _told_why(self) -> dict[str, tuple[str, str]]:
        return {name: why for name, pod in self.pods().items() if (why := why_waiting(pod))[0]}

    def _configuration(self, scheduler: str, extenders: tuple[Extender, ...]) -> Path:
        path = self._folder / f"{scheduler}.yaml"
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.control_plane.cluster.identity_kubeconfig("scheduler"))},
            "leaderElection": {"leaderElect": False},
            "podMaxBackoffSeconds": 2,
            "profiles": [{"schedulerName": self.name_of(scheduler)}],
            "extenders": list(extenders),
        }
        path.write_text(yaml.safe_dump(config))
        return path


@pytest.fixture
def scene(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Scene]:
    """A namespace whose pods only the schedulers of this test serve."""
    yield Scene(control_plane, namespace, tmp_path)
    control_plane.kubectl("delete", "pods", "--all", "-n", namespace, "--wait=false")


def extender(
    url: str, part: str, *, cached: bool = True, timeout: str = "1s", ignorable: bool = False, **verbs: str
) -> Extender:
    """Return the entry of an extender that has a word in pods that ask for the resource of its part."""
    managed = [{"name": resource_of(part), "ignoredByScheduler": True}]
    about = {"urlPrefix": f"{url}/{part}", "nodeCacheCapable": cached, "httpTimeout": timeout, "ignorable": ignorable}
    return {**about, "managedResources": managed, **(verbs or FILTERS_AND_SCORES)}


def nodes(scene: Scene, count: int, *offering: str) -> list[dict[str, Any]]:
    """Return nodes that offer the resources of these parts, which only the auditor counts."""
    offered = {resource_of(part): 1000 for part in offering}
    return [node_manifest(f"{scene.namespace}-{number}", allocatable=offered) for number in range(count)]


def resource_of(part: str) -> str:
    return f"example.com/{part.replace('_', '-')}"


def why_waiting(pod: Any) -> tuple[str, str]:
    found = [each for each in pod["status"].get("conditions", []) if each["type"] == "PodScheduled"]
    return next(((each["reason"], each.get("message", "")) for each in found if each["status"] == "False"), ("", ""))


# ------------------------------------------------------------------------------------------------- taking part


@pytest.mark.parametrize(
    "cached", [True, pytest.param(False, marks=pytest.mark.full)], ids=["by names", "by whole nodes"]
)
@pytest.mark.parametrize("scheduler", tiered([THEIRS, OURS], full=[THEIRS]))
def test_an_extender_filters_and_prefers_nodes_for_its_own_pods_only(
    scene: Scene, fake_nodes: Nodes, scheduler: str, cached: bool
) -> None:
    zero, one, two, three = fake_nodes(*nodes(scene, 4))

    def chooses(call: Call) -> None:
        if call.verb == "filter":
            call.leave(*(name for name in call.nodes() if name != zero), FailedNodes={zero: "no licence"})
        else:
            call.answer([{"Host": name, "Score": 10 if name == two else 0} for name in call.nodes()])

    asking, plain = ["asks-0", "asks-1", "asks-2"], ["plain-0", "plain-1", "plain-2"]
    with playing({"chooses": chooses}) as played, scene.run(scheduler, extender(played.url, "chooses", cached=cached)):
        note = {"note": "kept"}
        scene.control_plane.create([scene.pod(name, scheduler, "chooses", annotations=note) for name in asking])
        scene.control_plane.create([scene.pod(name, scheduler) for name in plain])
        bound = scene.until_bound(*asking, *plain)
    assert {bound[name] for name in asking} == {two}
    assert {question["Pod"]["metadata"]["name"] for _, _, question in played.asked} == set(asking)
    nodes_asked = {verb: set(nodes_of(question)) for _, verb, question in played.asked}
    assert nodes_asked == {"filter": {zero, one, two, three}, "prioritize": {one, two, three}}
    for _, _, question in played.asked:
        # All of the pod is there, not only what a scheduler reads.
        assert question["Pod"]["metadata"]["annotations"] == note
        assert question["Pod"]["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"
        assert question["Pod"]["status"]["phase"] == "Pending"
        assert (question["Nodes"] is None) == cached
        assert (question["NodeNames"] is None) != cached
        for node in [] if cached else question["Nodes"]["items"]:
            assert node["status"]["capacity"]["cpu"] == "4"
            assert node["metadata"]["labels"]["kubernetes.io/hostname"] == node["metadata"]["name"]


@pytest.mark.parametrize("scheduler", tiered([THEIRS, OURS], full=[THEIRS]))
def test_an_extender_binds_its_pods_itself(scene: Scene, fake_nodes: Nodes, audit: Audit, scheduler: str) -> None:
    fake_nodes(*nodes(scene, 2, "binds"))
    refused: list[str] = []

    def binds(call: Call) -> None:
        asked = call.question
        if asked["PodName"] == "unlucky" and "unlucky" not in refused:
            refused.append("unlucky")
            call.answer({"Error": "the device is busy"})
            return
        done = scene.kubectl.bind(asked["PodNamespace"], asked["PodName"], asked["Node"], uid=asked["PodUID"])
        call.answer({"Error": done.stderr if done.returncode else ""})

    names = ["lucky-0", "lucky-1", "unlucky"]
    with (
        playing({"binds": binds}) as played,
        audit(serves=serves(scene, scheduler), namespaces=[scene.namespace]) as running,
    ):
        only_binds = extender(played.url, "binds", timeout="20s", bindVerb="bind")
        with scene.run(scheduler, only_binds):
            scene.control_plane.create([scene.pod(name, scheduler, "binds") for name in names])
            scene.control_plane.create([scene.pod("plain", scheduler)])
            bound = scene.until_bound(*names, "plain")
            scene.until_none(lambda: {*names, "plain"} - set(told(scene, "Scheduled")))
            failed = told(scene, "FailedScheduling")
    assert running.report["violations"] == []
    assert {question["PodName"]: question["Node"] for _, _, question in played.asked} == {
        name: node for name, node in bound.items() if name != "plain"
    }
    agents = binders(scene)
    assert {name: agents[name] for name in names} == dict.fromkeys(names, "kubectl")
    assert agents["plain"] == scheduler
    assert failed == {"unlucky": "the device is busy"}


def told(scene: Scene, reason: str) -> dict[str, str]:
    """Return what the events of this reason say, by pod."""
    listed = scene.kubectl.get("events", "-n", scene.namespace, f"--field-selector=reason={reason}")["items"]
    return {event["involvedObject"]["name"]: event["message"] for event in listed}


def binders(scene: Scene) -> dict[str, str]:
    """Return the programs that bound the pods of this test."""
    records = map(json.loads, scene.control_plane.audit_log.read_text().splitlines())
    about = [(record, record.get("objectRef", {})) for record in records]
    return {
        target["name"]: record["userAgent"].partition("/")[0]
        for record, target in about
        if target.get("subresource") == "binding" and target.get("namespace") == scene.namespace
    }


@pytest.fixture
def classes(scene: Scene) -> Iterator[dict[str, str]]:
    """Priority classes of the test's own, by what they mean."""
    names = {meaning: f"{scene.namespace}-{meaning}" for meaning in ("low", "middle", "high")}
    for value, name in enumerate(names.values(), 1):
        about = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        scene.kubectl.create({**about, "value": value * 1000})
    yield names
    scene.kubectl("delete", "priorityclass", *names.values())


@pytest.mark.full
@pytest.mark.parametrize("cached", [True, pytest.param(False, marks=pytest.mark.full)], ids=["by uid", "by whole pods"])
@pytest.mark.parametrize("scheduler", tiered([THEIRS, OURS], full=[THEIRS]))
def test_an_extender_says_whom_preemption_may_evict(
    scene: Scene, fake_nodes: Nodes, classes: dict[str, str], scheduler: str, cached: bool
) -> None:
    cheap, dear = fake_nodes(*(node_manifest(f"{scene.namespace}-{name}", cpu=1) for name in ("cheap", "dear")))
    named = {cheap: ("victim-low", classes["low"]), dear: ("victim-middle", classes["middle"])}
    victims = {
        node: scene.pod(name, scheduler, cpu="1", node=node, priority_class=level)
        for node, (name, level) in named.items()
    }

    def spares_the_cheap(call: Call) -> None:
        field = "NodeNameToMetaVictims" if cached else "NodeNameToVictims"
        offered = call.question[field][dear]["Pods"]
        uids = [pod["UID"] if cached else pod["metadata"]["uid"] for pod in offered]
        call.answer({"NodeNameToMetaVictims": {dear: {"Pods": [{"UID": uid} for uid in uids]}}})

    with playing({"spares": spares_the_cheap}) as played:
        entry = extender(played.url, "spares", cached=cached, preemptVerb="preempt")
        with scene.run(scheduler, entry):
            scene.control_plane.create(list(victims.values()))
            scene.until_bound("victim-low", "victim-middle")
            high = scene.pod("important", scheduler, "spares", cpu="1", priority_class=classes["high"])
            high["spec"]["terminationGracePeriodSeconds"] = 0
            scene.control_plane.create([high])
            bound = scene.until_bound("important")
    assert bound == {"victim-low": cheap, "important": dear}
    asked = played.asked[0][2]
    assert set(asked["NodeNameToMetaVictims" if cached else "NodeNameToVictims"]) == {cheap, dear}
    assert not asked["NodeNameToVictims" if cached else "NodeNameToMetaVictims"]


# ---------------------------------------------------------------------------------------------- being in the way

REJECTING: dict[str, Part] = {
    "leaves_all_out": parts.leaves_all_out,
    "rejects": parts.rejects,
    "rejects_for_good": parts.rejects_for_good,
    "complains": parts.complains,
    "invents_a_node": parts.invents_a_node,
    "breaks_down": parts.breaks_down,
    "hangs_up": parts.hangs_up,
    "is_slow": parts.is_slow,
}


@pytest.mark.full
def test_the_owner_of_a_rejected_pod_reads_the_same_as_with_kube_scheduler(scene: Scene, fake_nodes: Nodes) -> None:
    fake_nodes(*nodes(scene, 3))
    said = {}
    for scheduler in (THEIRS, OURS):
        names = {part: f"{part.replace('_', '-')}-{scheduler}" for part in [*REJECTING, "is_dead"]}
        with playing(REJECTING) as played, closed_port() as port:
            entries = [extender(played.url, part) for part in REJECTING]
            entries.append(extender(f"http://127.0.0.1:{port}", "is_dead"))
            with scene.run(scheduler, *entries):
                scene.control_plane.create([scene.pod(name, scheduler, part) for part, name in names.items()])
                found = scene.until_told_why(*names.values())
        addresses = {str(played.server_port): "PORT", str(port): "CLOSED"}
        said[scheduler] = {part: neutral(found[name], addresses) for part, name in names.items()}
    assert said[OURS] == said[THEIRS]
    assert said[OURS]["rejects"][1].startswith("0/3 nodes are available: 1 the licence has run out, 2 no room.")


def neutral(said: tuple[str, str], ports: dict[str, str]) -> tuple[str, str]:
    """Return what was said without the ports of this run."""
    reason, message = said
    for port, word in ports.items():
        message = message.replace(f":{port}", f":{word}")
    return reason, message


@contextmanager
def closed_port() -> Iterator[int]:
    """Keep a port where nobody listens."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


# --------------------------------------------------------------------------------------------------- being sick

FAILING: dict[str, Part] = {
    "complains": parts.complains,
    "invents_a_node": parts.invents_a_node,
    "talks_nonsense": parts.talks_nonsense,
    "speaks_no_json": parts.speaks_no_json,
    "breaks_down": parts.breaks_down,
    "sends_elsewhere": parts.sends_elsewhere,
    "hangs_up": parts.hangs_up,
    "is_slow": parts.is_slow,
    "never_ends": parts.never_ends,
}
MOST_MEMORY = 400 << 20  # bytes; of a gigabyte in one answer, with sixteen questions at once


@pytest.mark.full
def test_sick_extenders_harm_only_their_own_pods_and_those_not_for_ever(
    scene: Scene, fake_nodes: Nodes, audit: Audit
) -> None:
    sick = {**FAILING, "rambles": parts.rambles}
    first, *_ = fake_nodes(*nodes(scene, 3, *sick, "is_dead", "keeps_silent"))
    with ExitStack() as stack:
        played = stack.enter_context(playing(sick))
        played.parts["keeps_silent"] = played.wait_until_healed
        closing = ExitStack()
        port = closing.enter_context(closed_port())
        running_audit = stack.enter_context(
            audit(serves=serves(scene, OURS), namespaces=[scene.namespace], wait_limit=0)
        )
        entries = [extender(played.url, part, timeout="20s" if part == "never_ends" else "1s") for part in sick]
        entries.append(extender(f"http://127.0.0.1:{port}", "is_dead"))
        entries.append(extender(played.url, "keeps_silent", timeout="1h"))
        running = stack.enter_context(scene.ours(*entries))
        asking = asking_pods(scene, {**dict.fromkeys([*sick, "is_dead", "keeps_silent"], 3), "never_ends": 20})

        # 1. Each owner is told what is wrong, except where nothing is known yet; others are bound meanwhile.
        told_why = scene.until_told_why(*(name for name in asking if not name.startswith("keeps-silent")))
        scene.until_none(lambda: {"keeps_silent"} - {part for part, _, _ in played.asked})
        plain = [f"plain-{number}" for number in range(100)]
        scene.control_plane.create([scene.pod(name, OURS) for name in plain])
        assert set(scene.until_bound(*plain)) == set(plain)
        assert all(len(message) < 20_000 for _, message in told_why.values())
        assert peak_memory(running) < MOST_MEMORY

        # 2. Well again, they get what they waited for.
        played.parts = dict.fromkeys(played.parts, well)
        played.healed.set()
        closing.close()
        stack.enter_context(playing({"is_dead": well}, port))
        scene.kubectl("label", "node", first, "look=again")  # no error but an answer was what some of them waited for
        scene.until_bound(*asking)
    assert running_audit.report["violations"] == []


def test_extenders_that_may_fail_stop_no_pod(scene: Scene, fake_nodes: Nodes) -> None:
    fake_nodes(*nodes(scene, 3))
    with playing(FAILING) as played, closed_port() as port:
        entries = [extender(played.url, part, ignorable=True) for part in FAILING]
        entries.append(extender(f"http://127.0.0.1:{port}", "is_dead", ignorable=True))
        with scene.ours(*entries) as running:
            asking = asking_pods(scene, dict.fromkeys([*FAILING, "is_dead"], 3))
            scene.until_bound(*asking)
            assert peak_memory(running) < MOST_MEMORY
            # On a busy machine a question may lie unread for longer than its asker waited.
            scene.until_none(lambda: set(FAILING) - {part for part, _, _ in played.asked})


def asking_pods(scene: Scene, wanted: Mapping[str, int]) -> list[str]:
    """Create so many pods that ask for each part's resource; returns their names."""
    names = {f"{part.replace('_', '-')}-{number}": part for part, count in wanted.items() for number in range(count)}
    scene.control_plane.create([scene.pod(name, OURS, part) for name, part in names.items()])
    return list(names)


def serves(scene: Scene, scheduler: str) -> dict[str, list[str]]:
    """Return whom the auditor may see bind the pods of a test: the extender is the cluster's admin."""
    names = [scene.name_of(scheduler)]
    return {"system:kube-scheduler": names, "kubernetes-admin": names}


def peak_memory(running: RunningPilotage) -> int:
    """Return the most memory that the scheduler ever had, in bytes."""
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))
