"""What the verbs of the kubectl plugin print, with a scheduler that answers and without one, and how they end."""

import json
import re
from typing import Any, ClassVar

import pytest

from kit.asked_cluster import AskedCluster
from pilotage.testing import node_manifest, pod_manifest

SHORT = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes."
READY = (("Accepted", "True", "Accepted"), ("Ready", "True", "Acknowledged"))
ROLLED_BACK = (("RolledBack", "True", "PluginFailing"), ("Ready", "False", "RolledBack"))
WAITING = (("Accepted", "True", "Accepted"), ("Ready", "False", "Waiting"))
ANSWER = {"at": "2026-01-01T00:00:00Z", "revision": 1, "source": "live"}


def told(cluster: AskedCluster, path: str, answer: dict[str, Any]) -> None:
    """Let the scheduler answer."""
    assert cluster.scheduler is not None
    cluster.scheduler.answers[path] = {**ANSWER, **answer}


class TestQueue:
    @pytest.fixture(autouse=True)
    def waiting(self, cluster: AskedCluster) -> None:
        cluster.pod("web-1", "shop", says=SHORT)
        cluster.pod("web-2", "shop", says=SHORT.replace("2 Insuff", "3 Insuff"))
        cluster.pod("runs", "shop", nodeName="n1")
        cluster.pod("over", "shop", status={"phase": "Succeeded"})
        cluster.pod("new", "lab")

    async def test_pods_that_wait_for_the_same_are_one_line(self, cluster: AskedCluster) -> None:
        lines = (await cluster.run("queue", "-A", "--source", "local", "--no-headers")).stdout.splitlines()
        assert [line.split()[0] for line in lines] == ["2", "1"]
        assert "Insufficient cpu, node(s) had untolerated taint(s)  wait  shop/web-1" in lines[0]
        assert lines[1].split()[2:] == ["not", "attempted", "yet", "lab/new"]

    async def test_one_by_one(self, cluster: AskedCluster) -> None:
        result = await cluster.run("queue", "-n", "shop", "--source", "local", "--pods", "-o", "name")
        assert result.stdout.splitlines() == ["shop/web-1", "shop/web-2"]

    async def test_those_that_one_plugin_turned_down(self, cluster: AskedCluster) -> None:
        found = await cluster.data("queue", "-A", "--source", "local", "--plugin", "TaintToleration")
        assert found["total"] == 2

    async def test_nobody_waits(self, cluster: AskedCluster) -> None:
        result = await cluster.run("queue", "-n", "empty", "--source", "local")
        told = "note: no pod is waiting in empty; -A shows all namespaces\n"
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", told)

    async def test_nobody_waits_for_the_scheduler_that_answers(self, live: AskedCluster) -> None:
        told(live, "/queue", {"kind": "Queue", "total": 0})
        result = await live.run("queue", "-n", "shop")
        assert result.stderr.splitlines()[-1] == (
            "note: no pod of this scheduler is waiting in shop; -A shows all namespaces and --source local shows the "
            "pods of other schedulers"
        )

    async def test_numbers_are_flush_right(self, cluster: AskedCluster) -> None:
        lines = (await cluster.run("queue", "-A", "--source", "local")).stdout.splitlines()
        assert [line[:9] for line in lines] == ["WAITING  ", "      2  ", "      1  "]

    async def test_what_would_help_comes_from_the_scheduler(self, live: AskedCluster) -> None:
        remedy = {"code": "reduceRequest", "actor": "owner", "text": "ask for cpu 3: fits on n2"}
        group = {"key": "Insufficient cpu", "pods": 3, "oldest": "2026-01-01T00:00:00Z", "example": "shop/web-1"}
        told(live, "/queue", {"kind": "Queue", "total": 4, "groups": [group, {**group, "example": "shop/other"}]})
        told(live, "/pods/shop/web-1/explain", {"kind": "Explanation", "remedies": [remedy]})
        lines = (await live.run("queue")).stdout.splitlines()
        assert lines[0].endswith("WOULD HELP MOST")
        assert lines[1].endswith("ask for cpu 3: fits on n2")


class TestStatus:
    async def test_all_is_well(self, cluster: AskedCluster) -> None:
        cluster.replica("leader", leads=True, config_hash="abcdef0123")
        cluster.profile("batch", *READY, status={"replicas": "1/1", "pluginCount": 20, "configHash": "abcdef0123"})
        result = await cluster.run("status", "--source", "local")
        assert result.exit_code == 0
        assert result.stdout.splitlines() == [
            "RELEASE            LEADER  READY  CONFIG",
            "pilotage/pilotage  leader  1/1    abcdef01",
            "",
            "PROFILE  SCHEDULER  READY  REASON        REPLICAS  PLUGINS  CONFIG",
            "batch    batch      yes    Acknowledged  1/1       20       abcdef01",
        ]

    @pytest.mark.parametrize(
        ("conditions", "words"),
        [
            pytest.param(ROLLED_BACK, [], id="a spec was rolled back"),
            pytest.param(ROLLED_BACK, ["--wait"], id="waiting for one that was rolled back ends at once"),
            pytest.param(WAITING, ["--wait", "--timeout", "0"], id="it did not become ready in time"),
        ],
    )
    async def test_something_is_not(
        self, cluster: AskedCluster, conditions: tuple[tuple[str, str, str], ...], words: list[str]
    ) -> None:
        cluster.replica("leader", leads=True)
        cluster.profile("batch", *conditions)
        result = await cluster.run("status", *words)
        assert result.exit_code == 3
        assert "fault: batch: " in result.stdout
        assert "\n  do: kubectl describe schedulerprofile batch" in result.stdout

    async def test_a_gate_waits_until_all_is_well(self, cluster: AskedCluster) -> None:
        cluster.replica("leader", leads=True)
        cluster.profile("batch", *WAITING)
        looks = 0
        handle = cluster.api.objects["schedulerprofiles"]

        class ReadyLater(dict[str, Any]):
            def values(self) -> Any:
                nonlocal looks
                looks += 1
                if looks == 2:
                    cluster.api.objects["schedulerprofiles"] = handle
                    cluster.profile("batch", *READY)
                return super().values()

        cluster.api.objects["schedulerprofiles"] = ReadyLater(handle)
        assert (await cluster.run("status", "batch", "--wait")).exit_code == 0
        assert looks == 2

    async def test_no_replica_leads(self, cluster: AskedCluster) -> None:
        cluster.replica("one")
        found = await cluster.data("status", "--source", "local")
        assert found["well"] is False
        assert [each["text"] for each in found["alarms"]] == ["no leader is known"]

    async def test_what_only_the_scheduler_knows(self, live: AskedCluster) -> None:
        live.profile("batch", *READY)
        brief = {"name": "batch", "pending": 7, "boundPerMinute": 120}
        told(live, "/overview", {"kind": "Overview", "profiles": [brief], "alarms": [{"text": "slow", "do": "look"}]})
        result = await live.run("status")
        assert "WAITING  BOUND/MIN" in result.stdout
        assert "warning: scheduler: slow\n  do: look" in result.stdout
        assert result.exit_code == 0

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            pytest.param([], "is Pilotage installed?", id="nothing is there"),
            pytest.param(["bach"], "there is no SchedulerProfile bach; there are: none", id="a strange profile"),
        ],
    )
    async def test_bad_input(self, cluster: AskedCluster, words: list[str], said: str) -> None:
        result = await cluster.run("status", "--source", "local", *words)
        assert result.exit_code == 2
        assert said in result.stderr


class TestTop:
    TABLE: ClassVar[dict[str, Any]] = {
        "kind": "Nodes",
        "names": ["n1", "n2"],
        "allocatable": {"cpu": [4000, 8000], "memory": [8 << 30, 16 << 30]},
        "requested": {"cpu": [4000, 2000], "memory": [2 << 30, 1 << 30]},
        "units": {"cpu": "m", "memory": "bytes"},
        "pods": [4, 2],
        "allowed": [110, 110],
        "flags": [1, 0],
    }

    async def test_nodes_with_what_nobody_can_use(self, live: AskedCluster) -> None:
        told(live, "/nodes", self.TABLE)
        assert (await live.run("top")).stdout.splitlines() == [
            "NODE   CPU  CPU%    MEMORY  MEM%   PODS  STRANDED    FLAGS",
            "n1     4/4  100%   2Gi/8Gi   25%  4/110  memory 6Gi  cordoned",
            "n2     2/8   25%  1Gi/16Gi    6%  2/110",
            "ALL   6/12   50%  3Gi/24Gi   12%  6/220  memory 6Gi",
        ]

    async def test_the_same_from_a_file(self, cluster: AskedCluster) -> None:
        file = cluster.folder / "cluster.json"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        node["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"nodeName": "n1"}}
        pod["spec"]["containers"] = [{"name": "c", "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}}]  # type: ignore[index]
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}))
        result = await cluster.run("top", "--source", str(file), "--no-headers")
        assert result.stdout.splitlines()[0].split() == ["n1", "1500m/4", "38%", "1Gi/8Gi", "12%", "1/10"]

    async def shapes_of(self, cluster: AskedCluster, *words: str) -> list[list[str]]:
        cluster.api.put("nodes", node_manifest("n1", cpu="4", memory="8Gi", fake=False))
        cluster.api.put("pods", pod_manifest("web-1", namespace="shop", cpu="500m", node="n1"))
        cluster.api.put("pods", pod_manifest("web-2", namespace="shop", cpu="500m", node="n1"))
        cluster.api.put("pods", pod_manifest("train", namespace="lab", cpu="3"))
        result = await cluster.run("top", "shapes", "--no-headers", *words)
        assert result.exit_code == 0, result.stderr
        return [line.split() for line in result.stdout.splitlines()]

    async def test_how_many_more_of_each_shape_fit(self, cluster: AskedCluster) -> None:
        web = ["2", "cpu", "500m", "shop/web-1", "0", "cpu"]  # train takes the rest
        train = ["1", "1", "cpu", "3", "lab/train", "0", "cpu"]
        assert await self.shapes_of(cluster, "--source", "local", "-A") == [web, train]
        assert await self.shapes_of(cluster, "--source", "local", "-n", "shop") == [web]

    async def test_shapes_by_the_scheduler(self, live: AskedCluster) -> None:
        fill = {"changes": "now", "copies": 7, "stoppedBy": "memory", "where": "n1: 7"}
        told(live, "/what-if", {"kind": "WhatIfAnswer", "verdict": "fits", "fill": fill})
        assert await self.shapes_of(live, "-n", "shop", "-o", "wide") == [
            ["2", "cpu", "500m", "shop/web-1", "7", "memory", "n1:", "7"]
        ]
        assert live.scheduler is not None
        [sent] = live.scheduler.bodies
        assert (sent["ask"], list(sent["changes"][0])) == (["fill", "others"], ["add"])

    async def test_without_the_right_to_ask_the_scheduler_shapes_are_counted_here(self, live: AskedCluster) -> None:
        assert live.scheduler is not None
        live.scheduler.refusals["/what-if"] = 403
        assert len(await self.shapes_of(live, "-n", "shop")) == 1

    async def test_a_shape_that_the_scheduler_does_not_serve_is_left_out(self, live: AskedCluster) -> None:
        assert live.scheduler is not None
        live.scheduler.refusals["/what-if"] = 400
        assert await self.shapes_of(live, "-n", "shop", "--source", "live") == []

    async def test_shapes_that_are_left_out_for_the_same_reason_are_one_note(self, live: AskedCluster) -> None:
        assert live.scheduler is not None
        for number in range(3):
            live.pod(f"p{number}", "shop", containers=[{"name": "c", "resources": {"requests": {"cpu": f"{number}m"}}}])
        live.scheduler.refusals["/what-if"] = 400
        result = await live.run("top", "shapes", "-n", "shop", "--source", "live")
        told = [line for line in result.stderr.splitlines() if "not counted" in line]
        assert [re.sub("shop/p[0-2]", "shop/p", line) for line in told] == [
            "note: pods like shop/p (3 pods of 3 shapes) are not counted: /what-if: the scheduler says 400"
        ]

    async def test_plugins_are_known_to_the_scheduler_alone(self, cluster: AskedCluster, live: AskedCluster) -> None:
        cost = {"profile": "batch", "plugin": "Priority", "point": "score", "calls": 9, "seconds": 0.5, "p50": 2e-6}
        told(live, "/plugins", {"kind": "Plugins", "items": [cost]})
        assert (await live.run("top", "plugins", "--no-headers")).stdout.split() == [
            *("batch", "Priority", "score", "9", "500.0ms", "2µs", "0µs", "0")
        ]


class TestHistory:
    async def test_a_profile(self, cluster: AskedCluster) -> None:
        written = {"manager": "kubectl-apply", "operation": "Apply", "time": "2026-01-01T00:00:00Z"}
        managed = [{**written, "fieldsV1": {"f:spec": {}}}, {**written, "subresource": "status", "fieldsV1": {}}]
        cluster.profile("batch", *READY, managedFields=managed)
        found = await cluster.data("history", "batch", "--source", "local")
        assert [(each["what"], each["who"]) for each in found["items"]] == [
            ("SpecApply", "kubectl-apply"),
            ("Accepted=True", "operator"),
            ("Ready=True", "operator"),
        ]

    async def test_a_pod_by_its_events(self, cluster: AskedCluster) -> None:
        cluster.pod("web", "shop", says=SHORT)
        about = {"kind": "Pod", "name": "web"}
        event = {"metadata": {"name": "e", "namespace": "shop"}, "involvedObject": about, "reason": "FailedScheduling"}
        cluster.api.put("events", {**event, "message": "no room", "lastTimestamp": "2026-01-01T00:00:05Z", "count": 4})
        lines = (await cluster.run("history", "pod/web", "-n", "shop", "--source", "local")).stdout.splitlines()
        assert [line.split()[1] for line in lines[1:]] == ["Created", "FailedScheduling"]

    async def test_a_pod_by_the_attempts_of_its_scheduler(self, live: AskedCluster) -> None:
        attempt = {"at": "2026-01-01T00:00:00Z", "n": 3, "outcome": "waits", "message": "no room"}
        told(live, "/pods/shop/web", {"kind": "Pod", "attempts": [attempt]})
        found = await live.data("history", "pod/web", "-n", "shop")
        assert [(each["who"], each["what"], each["why"]) for each in found["items"]] == [
            ("attempt 3", "waits", "no room")
        ]

    @pytest.mark.parametrize(
        ("word", "said"),
        [
            pytest.param(
                "bach",
                "SchedulerProfile bach; there are: none; for a pod write pod/bach",
                id="a strange profile",
            ),
            pytest.param("node/n1", "write one of pod/NAME, schedulerprofile/NAME", id="a strange kind"),
            pytest.param("pod/a%2Fb", "is not a valid name of a Kubernetes object", id="a name that is a path"),
        ],
    )
    async def test_bad_input(self, cluster: AskedCluster, word: str, said: str) -> None:
        result = await cluster.run("history", word, "--source", "local")
        assert result.exit_code == 2
        assert said in result.stderr


class TestDiff:
    async def test_a_file_that_does_something_else(self, cluster: AskedCluster) -> None:
        cluster.profile("batch", spec={"plugins": [{"name": "ImageLocality", "enabled": False}]})
        wanted = {"plugins": [{"name": "ImageLocality", "weight": 5}, {"name": "NodeAffinity", "enabled": False}]}
        result = await cluster.run("diff", "batch", "-f", self.file(cluster, wanted))
        assert result.exit_code == 3
        paths = [line.split()[0] for line in result.stdout.splitlines()[1:]]
        assert paths == ["plugins.NodeAffinity", "plugins.ImageLocality"]

    async def test_one_that_is_written_otherwise_and_does_the_same(self, cluster: AskedCluster) -> None:
        cluster.profile("batch", spec={})
        result = await cluster.run("diff", "batch", "-f", self.file(cluster, {"plugins": [{"name": "NodeAffinity"}]}))
        assert result.exit_code == 0
        assert result.stdout.endswith(" do the same\n")

    async def test_the_last_good_spec(self, cluster: AskedCluster) -> None:
        good = {"generation": 4, "spec": {"plugins": [{"name": "NodeAffinity", "weight": 9}]}}
        cluster.profile("batch", status={"lastGood": good})
        for origin in ("last-good", "4"):
            found = await cluster.data("diff", "batch", "--from", origin)
            assert found["differences"] == [{"path": "plugins.NodeAffinity.weight", "from": 9, "to": 2}]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            pytest.param(["bach"], "there is no SchedulerProfile bach; there are: batch", id="a strange profile"),
            pytest.param(["batch"], "the profile has no running spec yet", id="nothing ran yet"),
            pytest.param(["batch", "--from", "9"], "last-good, or one of the generations 1", id="a strange generation"),
            pytest.param(["batch", "-f", "{}"], "contains no SchedulerProfile batch", id="a file of others"),
        ],
    )
    async def test_bad_input(self, cluster: AskedCluster, words: list[str], said: str) -> None:
        cluster.profile("batch")
        file = self.file(cluster, {}, name="other")
        result = await cluster.run("diff", *(file if word == "{}" else word for word in words))
        assert result.exit_code == 2
        assert said in result.stderr

    def file(self, cluster: AskedCluster, spec: dict[str, Any], name: str = "batch") -> str:
        path = cluster.folder / "profile.json"
        head = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": name}}
        path.write_text(json.dumps({**head, "spec": spec}))
        return str(path)


class TestDoctor:
    REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    @pytest.fixture(autouse=True)
    def well(self, cluster: AskedCluster) -> None:
        answers = cluster.api.answers
        answers["/version"] = {"gitVersion": "v1.37.1"}
        answers[self.REVIEWS] = {"status": {"allowed": True}}
        answers["/apis/pilotage.dev/v1alpha1"] = {"resources": [{"name": "schedulerprofiles"}]}
        answers["/apis/authentication.k8s.io/v1/selfsubjectreviews"] = {
            "status": {"userInfo": {"username": "jane"}},
            "metadata": {"creationTimestamp": None},
        }
        cluster.replica("leader", leads=True)
        cluster.profile("batch", *READY)

    async def test_all_is_well_but_for_the_scheduler_that_answers_nobody(self, cluster: AskedCluster) -> None:
        result = await cluster.run("doctor", "--no-headers")
        assert result.exit_code == 0
        [line] = result.stdout.splitlines()
        assert line.startswith("warning  scheduler  you have no access to the scheduler: kubectl failed: ")

    async def test_what_is_wrong_comes_with_what_to_do(self, cluster: AskedCluster) -> None:
        cluster.api.answers["/version"] = {"gitVersion": "v1.30.2"}
        cluster.api.answers[self.REVIEWS] = {"status": {"allowed": False}}
        cluster.profile("second", *ROLLED_BACK, spec={"schedulerName": "batch"})
        found = await cluster.data("doctor")
        assert found["well"] is False
        wrong = {each["check"]: each for each in found["items"] if each["state"] != "ok"}
        assert set(wrong) == {"server", "kubectl", "rights", "profile", "names", "scheduler"}
        assert all(each["do"] for each in wrong.values())
        do = {each["do"] for each in found["items"]}
        assert "kubectl create rolebinding ask -n pilotage --role=pilotage-ask --user=jane" in do
        assert any(each.endswith("--clusterrole=pilotage-explainer.pilotage --user=jane") for each in do)
        assert "2 profiles have the schedulerName batch" in wrong["names"]["text"]

    async def test_it_ends_with_3_if_something_is_at_fault(self, cluster: AskedCluster) -> None:
        cluster.api.answers["/apis/pilotage.dev/v1alpha1"] = {"resources": []}
        assert (await cluster.run("doctor")).exit_code == 3

    async def test_it_does_without_what_may_not_be_seen(self, cluster: AskedCluster) -> None:
        cluster.api.refusals |= {"/api/v1/": 403, "/apis/": 403}
        result = await cluster.run("doctor")
        assert result.exit_code == 2  # not even one's rights can be asked
        assert "refused by the test" in result.stderr


EXPLAIN = {
    "kind": "Explanation",
    "namespace": "shop",
    "name": "web",
    "profile": "batch",
    "nodesTotal": 3,
    "groups": [{"plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"], "code": "x", "nodes": 3}],
    "remedies": [{"code": "reduceRequest", "actor": "owner", "text": "ask for cpu 3 instead of 3.5"}],
}
VIEW = {
    "kind": "Pod",
    "namespace": "shop",
    "name": "web",
    "uid": "u",
    "profile": "batch",
    "state": "waiting",
    "place": "backoff",
    "reason": {"text": "0/3 nodes are available: 3 Insufficient cpu.", "code": "x", "tier": "wait"},
    "position": {"ahead": 2, "total": 9},
    "attempts": [{"at": "2026-01-01T00:00:00Z", "n": 5, "outcome": "waits", "message": "no room", "nodes": 3}],
}


class TestExplainLive:
    """The scheduler explains: for who may not read what a decision needs, or who wants its attempts."""

    @pytest.fixture(autouse=True)
    def answers(self, live: AskedCluster) -> None:
        told(live, "/pods/shop/web", VIEW)
        told(live, "/pods/shop/web/explain", EXPLAIN)

    async def test_groups_remedies_and_the_place_in_the_queue(self, live: AskedCluster) -> None:
        result = await live.run("explain", "shop/web", "--source", "live", "--attempts")
        assert result.exit_code == 3
        first, *lines = result.stdout.splitlines()
        assert first == "web  waits: 0/3 nodes are available: 3 Insufficient cpu."
        assert lines[:-2] == [
            "  In the queue (backoff): 2 of 9 pods are ahead of it, tried 5 times.",
            "  PLUGIN            NODES  BECAUSE",
            "  NodeResourcesFit      3  Insufficient cpu",
            "  What would help, each tried on this cluster (-o yaml has the patches):",
            "    owner: ask for cpu 3 instead of 3.5",
        ]
        assert lines[-2].split() == ["AGO", "TRY", "OUTCOME", "FIT", "MESSAGE"]
        assert lines[-1].split()[1:] == ["5", "waits", "0/3", "no", "room"]

    async def test_nodes_one_by_one(self, live: AskedCluster) -> None:
        one = {"node": "n1", "fits": False, "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]}
        items = [{**one, "details": ["wants 6, 4 of 4 free"]}, {"node": "n2", "fits": True, "total": 7}]
        told(live, "/pods/shop/web/explain", {**EXPLAIN, "nodes": {"total": 3, "items": items}})
        lines = (
            await live.run("explain", "shop/web", "--source", "live", "--nodes", "--no-remedies")
        ).stdout.splitlines()
        assert lines[2:6] == [
            "  NODE  FITS  BECAUSE                                                    TOTAL",
            "  n1    no    NodeResourcesFit: Insufficient cpu (wants 6, 4 of 4 free)",
            "  n2    yes                                                                  7",
            "  1 more nodes are not shown; use --all.",
        ]

    async def test_it_has_the_fields_that_a_decision_here_has(self, live: AskedCluster) -> None:
        live.pod("web", "shop", containers=[{"name": "c"}])
        here = await live.data("explain", "shop/web", "--source", "local")
        there = await live.data("explain", "shop/web", "--source", "live")
        assert set(here) <= set(there)

    async def test_who_may_not_list_nodes_is_answered_by_the_scheduler(self, live: AskedCluster) -> None:
        live.api.refusals["/api/v1/nodes"] = 403
        live.pod("web", "shop", containers=[{"name": "c"}])
        result = await live.run("explain", "shop/web")
        assert result.exit_code == 3
        assert "owner: ask for cpu 3 instead of 3.5" in result.stdout
        assert result.stderr.startswith("note: source: the scheduler")

    @pytest.mark.parametrize("words", [["--nodes"], ["--all"], ["--why-not", "n1"]])
    async def test_who_may_not_see_nodes_and_asks_for_them_is_told(self, live: AskedCluster, words: list[str]) -> None:
        result = await live.run("explain", "shop/web", "--source", "live", *words)
        assert "note: nodes are shown only to users who may list nodes\n" in result.stderr

    async def test_why_a_waiting_pod_does_not_fit_on_a_node(self, live: AskedCluster) -> None:
        one = {"node": "n1", "fits": False, "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]}
        told(live, "/pods/shop/web/explain", {**EXPLAIN, "nodes": {"total": 1, "items": [one]}})
        result = await live.run("explain", "shop/web", "--source", "live", "--why-not", "n1")
        assert result.stdout.splitlines()[-1] == "  n1 is rejected by NodeResourcesFit: Insufficient cpu"
        assert "only to users" not in result.stderr

    async def test_a_pod_of_another_scheduler_by_its_status(self, live: AskedCluster) -> None:
        live.api.refusals["/api/v1/nodes"] = 403
        live.pod("other", "shop", says=SHORT, containers=[{"name": "c"}])
        result = await live.run("explain", "shop/other")
        assert result.exit_code == 3
        assert "no scheduler was asked: /pods/shop/other: the scheduler says 404" in result.stderr
        assert "NodeResourcesFit      2  Insufficient cpu" in result.stdout

    async def test_a_node_is_asked_about(self, live: AskedCluster) -> None:
        told(live, "/pods/shop/web/explain", {**EXPLAIN, "chosen": "n1", "fits": 1, "whyNot": "n2 loses by 17"})
        result = await live.run("explain", "shop/web", "--source", "live", "--why-not", "n2", "--no-remedies")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-1] == "  n2 loses by 17"
        assert live.scheduler is not None
        assert live.scheduler.asked[-1][1] == {"nodes": "n2", "remedies": "0", "limit": "1"}


class TestWhatIfLive:
    ANSWER: ClassVar[dict[str, Any]] = {
        "kind": "WhatIfAnswer",
        "verdict": "partly",
        "summary": "1 of 2 pods fit.",
        "waiting": [
            {
                "owner": "Pod/web",
                "namespace": "shop",
                "count": 1,
                "reason": "no room",
                "example": "web-2",
                "remedies": [{"code": "reduceRequest", "actor": "owner", "text": "ask for cpu 3"}],
            }
        ],
    }

    async def test_the_scheduler_answers_the_same_request(self, live: AskedCluster) -> None:
        told(live, "/what-if", self.ANSWER)
        result = await live.run("drain-sim", "n1", "--source", "live")
        assert result.exit_code == 3
        assert result.stdout.startswith("1 of 2 pods fit.\n")
        assert "  ask for cpu 3" in result.stdout
        assert live.scheduler is not None
        [sent] = live.scheduler.bodies
        assert sent["changes"] == [{"drain": {"nodes": ["n1"], "selector": ""}}]
        assert (await live.data("drain-sim", "n1", "--source", "live"))["summary"] == "1 of 2 pods fit."

    async def test_it_has_its_own_configuration(self, live: AskedCluster) -> None:
        result = await live.run("drain-sim", "n1", "--source", "live", "--config", "x.yaml")
        assert result.exit_code == 2
        assert "the scheduler uses its own configuration" in result.stderr
