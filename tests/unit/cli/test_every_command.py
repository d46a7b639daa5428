"""One row for each command: what it prints for people and for programs, which flags of kubectl it has, how it ends."""

import json
import re
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from generate.printed_schemas import files
from kit.asked_cluster import AskedCluster, asked_cluster
from kit.json_schema import SCHEMAS, faults
from localcluster.paths import REPOSITORY
from pilotage.cli import main
from pilotage.cli.group import COMMANDS
from pilotage.cli.program import program_name
from pilotage.testing import node_manifest, pod_manifest

Words = tuple[str, ...]

EXAMPLES = REPOSITORY / "examples"
WHAT_IF = str(EXAMPLES / "what-if/web.yaml")
PROFILE = str(EXAMPLES / "profiles/spread.yaml")
SIMULATED: Words = ("-f", str(EXAMPLES / "cluster.yaml"), "-f", str(EXAMPLES / "web.yaml"))
SHORT = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes."


@dataclass(frozen=True)
class Row:
    """What a command promises."""

    words: Words
    prints: str  # a word of what it prints for people
    ends: int = 0  # with these words
    schema: str = ""  # of docs/schemas; "": it prints nothing for programs, or what others describe
    formats: Words = ("json", "yaml")
    codes: Words = ("0", "2", "3")  # that its help explains
    asks: bool = True  # a cluster, with the flags of kubectl
    more: Sequence[Words] = field(default_factory=tuple)  # other words for an answer of the same schema


LISTED: Words = ("0", "2")  # the exit codes of a list
# Of each command, and of each thing that `top` shows.
ROWS = {
    "capacity": Row(("capacity", "-f", WHAT_IF), "COPIES", 0, "capacity"),
    "check": Row(("check", PROFILE), "it can run", 0, "check", codes=("0", "1", "2"), asks=False),
    "check-config": Row(("check-config", PROFILE), "profiles", codes=LISTED, asks=False),
    "completion": Row(("completion", "bash"), "_PILOTAGE_COMPLETE", formats=(), codes=(), asks=False),
    "convert": Row(("convert", PROFILE), "", 2, formats=(), codes=("0", "1", "2"), asks=False),
    "diff": Row(
        ("diff", "batch", "--from", "last-good"), "LAST-GOOD", 3, "diff", more=[("diff", "batch", "--from", "spec")]
    ),
    "doctor": Row(("doctor",), "STATE", 3, "doctor"),
    "drain-sim": Row(("drain-sim", "n1"), "PODS OF", 3, "drain-sim", more=[("drain-sim", "n2")]),
    "explain": Row(
        ("explain", "shop/web"),
        "NodeResourcesFit",
        3,
        "explain",
        more=[("explain", "deploy/web", "-n", "shop"), ("explain", "shop/runs", "--why-not", "n2", "--nodes")],
    ),
    "extender": Row(("extender", "--port", "none"), "", 2, formats=(), codes=(), asks=False),
    "history": Row(
        ("history", "batch"), "Accepted", 0, "history", codes=LISTED, more=[("history", "pod/web", "-n", "shop")]
    ),
    "plugins": Row(
        ("plugins",), "EXTENSION POINTS", 0, "plugins", codes=LISTED, asks=False, more=[("plugins", "Priority")]
    ),
    "profile": Row(("profile", "enable", "bach", "Priority"), "", 2, formats=(), codes=("0", "2", "3", "4")),
    "queue": Row(("queue", "-A"), "REASON", 0, "queue", codes=LISTED, more=[("queue", "-n", "shop", "--pods")]),
    "run": Row(("run", "words"), "", 2, formats=(), codes=("0", "1", "2"), asks=False),
    "simulate": Row(
        ("simulate", *SIMULATED), "NODE", 3, "simulate", asks=False, more=[("simulate", *SIMULATED, "--explain=report")]
    ),
    "status": Row(("status",), "RELEASE", 0, "status"),
    "top": Row(("top",), "CPU%", 0, "top-nodes", codes=LISTED),
    "top shapes": Row(("top", "shapes", "-A"), "MORE FIT", 0, "top-shapes", codes=LISTED),
    "top plugins": Row(("top", "plugins"), "P99", 0, "top-plugins", codes=LISTED),
    "what-if": Row(
        ("what-if", "-f", WHAT_IF, "--copies", "3", "--add-nodes", "1", "--like", "n1"),
        "PODS OF",
        3,
        "what-if",
        more=[("what-if", "--drain", "n1", "--ask", "remedies")],
    ),
}
EVERY = pytest.mark.parametrize("name", ROWS)
ASKING = pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.asks])
PRINTING = pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.schema])

AT = {"at": "2026-01-01T00:00:00Z", "revision": 1, "source": "live"}
REASON = {"text": SHORT, "code": "InsufficientResources", "tier": "wait"}
REMEDY = {
    "code": "reduceRequest",
    "actor": "owner",
    "text": "ask for cpu 4",
    "verified": True,
    "nodes": 2,
    "example": "n1",
}
GROUP = {"plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"], "code": "InsufficientResources", "nodes": 2}
FILL = {"changes": "now", "copies": 0, "stoppedBy": "cpu", "message": SHORT, "byNode": {}, "where": ""}
LIVE: dict[str, dict[str, Any]] = {
    "/overview": {"kind": "Overview", "profiles": [{"name": "batch", "pending": 7, "boundPerMinute": 9}], "alarms": []},
    "/queue": {
        "kind": "Queue",
        "total": 1,
        "groups": [{"key": SHORT, "pods": 1, "oldest": AT["at"], "example": "shop/web", "reason": REASON}],
    },
    "/plugins": {
        "kind": "Plugins",
        "items": [{"profile": "batch", "plugin": "Priority", "point": "score", "calls": 9, "p99": 2e-6}],
    },
    "/nodes": {
        "kind": "Nodes",
        "names": ["n1"],
        "allocatable": {"cpu": [4000], "memory": [8 << 30]},
        "requested": {"cpu": [4000], "memory": [1 << 30]},
        "units": {"cpu": "m", "memory": "bytes"},
        "pods": [4],
        "allowed": [110],
        "flags": [1],
    },
    "/pods/shop/web": {
        "kind": "Pod",
        "namespace": "shop",
        "name": "web",
        "uid": "u",
        "profile": "default-scheduler",
        "state": "waiting",
        "place": "backoff",
        "reason": REASON,
        "attempts": [{"at": AT["at"], "n": 5, "outcome": "waits", "message": SHORT, "nodes": 2}],
    },
    "/pods/shop/web/explain": {
        "kind": "Explanation",
        "namespace": "shop",
        "name": "web",
        "profile": "default-scheduler",
        "nodesTotal": 2,
        "groups": [GROUP],
        "remedies": [REMEDY],
        "nodes": {"total": 2, "items": [{"node": "n1", "fits": False, "plugin": "NodeResourcesFit", "reasons": ["x"]}]},
    },
    "/profiles/batch": {
        "kind": "Profile",
        "profile": {"name": "batch", "history": [{"at": AT["at"], "hash": "abc", "result": "applied"}]},
    },
    "/what-if": {
        "kind": "WhatIfAnswer",
        "verdict": "partly",
        "summary": "0 of 1 pod fits.",
        "fill": FILL,
        "capacity": [FILL],
        "shapes": [{"owner": "Deployment shop/web", "namespace": "shop", "asked": 1, "placed": 0}],
        "waiting": [{"owner": "x", "namespace": "shop", "count": 1, "reason": SHORT, "remedies": [REMEDY]}],
        "evictions": [],
    },
}


def owned(kind: str, name: str) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
    return {"ownerReferences": [reference], "labels": {"pod-template-hash": "abc"}}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[AskedCluster]:
    """Two nodes, a pod that runs and one that waits, a profile, and a scheduler that answers."""
    async with asked_cluster(tmp_path, with_scheduler=True) as found:
        assert found.scheduler is not None
        found.scheduler.answers |= {path: {**AT, **answer} for path, answer in LIVE.items()}
        found.api.answers["/version"] = {"gitVersion": "v1.37.1"}
        for name in ("n1", "n2"):
            found.api.put("nodes", node_manifest(name, cpu="4", memory="8Gi", fake=False))
        for name, cpu, node in (("web", "6", None), ("runs", "1", "n1")):
            pod = pod_manifest(name, namespace="shop", cpu=cpu, node=node)
            pod["metadata"] |= owned("ReplicaSet", "web-abc") | {"creationTimestamp": AT["at"]}
            told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": SHORT}
            found.api.put("pods", {**pod, "status": {} if node else {"conditions": [told]}})
        good = {"generation": 4, "spec": {"plugins": [{"name": "NodeAffinity", "weight": 9}]}}
        conditions = (("Accepted", "True", "Accepted"), ("Ready", "True", "Acknowledged"))
        found.profile("batch", *conditions, status={"lastGood": good, "replicas": "1/1", "pluginCount": 20})
        yield found


def test_every_command_has_a_row() -> None:
    assert {row.words[0] for row in ROWS.values()} == set(COMMANDS)


def test_every_schema_is_of_a_row_and_there_is_no_other() -> None:
    assert {row.schema for row in ROWS.values() if row.schema} == {path.stem for path in SCHEMAS.iterdir()}
    assert len(files()) == len(list(SCHEMAS.iterdir()))


# -------------------------------------------------------------------------------------------------------- help


@pytest.fixture
def help_text(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The help of the command, as kubectl shows it."""
    monkeypatch.setattr(sys, "argv", ["/x/kubectl-pilotage"])
    words = [*ROWS[name].words[: 2 if name == "profile" else 1], "--help"]
    return CliRunner().invoke(main, words, prog_name=program_name(), terminal_width=120).stdout


@EVERY
def test_the_help_has_the_name_that_was_typed(name: str, help_text: str) -> None:
    assert f"Usage: kubectl pilotage {ROWS[name].words[0]}" in help_text
    bare = [line for line in help_text.splitlines() if "pilotage " in line.replace("kubectl pilotage ", "")]
    assert [line for line in bare if line.lstrip().startswith("pilotage ") or "| pilotage " in line] == []


@EVERY
def test_the_help_explains_the_exit_codes(name: str, help_text: str) -> None:
    told = " ".join(help_text.split()).partition("xit code")[2]
    assert [code for code in ROWS[name].codes if code not in re.findall(r"\b\d\b", told)] == []


@ASKING
def test_the_help_has_the_flags_of_kubectl(name: str, help_text: str) -> None:
    flags = (
        ["--kubeconfig", "--context"]
        if name == "profile"
        else ["--kubeconfig", "--context", "--as", "--as-group", "-o"]
    )
    assert [flag for flag in flags if f"{flag} " not in help_text and f"{flag}," not in help_text] == []


# ------------------------------------------------------------------------------------------------------ answers


@EVERY
async def test_what_it_prints_for_people_and_how_it_ends(name: str, cluster: AskedCluster) -> None:
    row = ROWS[name]
    result = await cluster.run(*row.words)
    assert result.exit_code == row.ends, result.output
    assert row.prints in result.stdout
    if row.ends == 2:
        assert result.stderr


@EVERY
async def test_the_formats_that_it_has(name: str, cluster: AskedCluster) -> None:
    row = ROWS[name]
    for output in ("json", "yaml"):
        result = await cluster.run(*row.words, "-o", output)
        refused = "Invalid value for '-o'" in result.stderr or "No such option" in result.stderr
        assert refused is (output not in row.formats), result.stderr


@PRINTING
@pytest.mark.parametrize("source", ["live", "local"])
async def test_json_and_yaml_are_as_the_schema_says(name: str, source: str, cluster: AskedCluster) -> None:
    row = ROWS[name]
    for words in (row.words, *row.more):
        has_source = row.asks and name not in ("diff", "doctor")
        given = (*words, "--source", source) if has_source else words
        for output, read in (("json", json.loads), ("yaml", yaml.safe_load)):
            result: Result = await cluster.run(*given, "-o", output)
            if result.exit_code == 2:
                assert is_known_to_one_side(words, source), result.stderr
                continue
            assert faults(row.schema, read(result.stdout)) == [], given


def is_known_to_one_side(words: Words, source: str) -> bool:
    """Whether only the scheduler knows it, or it is about a pod of which this scheduler knows nothing."""
    return words == ("top", "plugins") if source == "local" else "shop/runs" in words


# -------------------------------------------------------------------------------------------------------- flags


@ASKING
async def test_a_context_is_looked_for(name: str, cluster: AskedCluster) -> None:
    result = await cluster.run(*ROWS[name].words, "--context", "elsewhere")
    assert result.exit_code == 2
    assert "there is no context 'elsewhere'; there is it" in result.stderr
    assert result.stdout == ""


@ASKING
async def test_a_context_is_used(name: str, cluster: AskedCluster) -> None:
    result = await cluster.run(*ROWS[name].words, "--context", "it")
    assert result.exit_code == ROWS[name].ends


@ASKING
async def test_all_namespaces_may_be_named(name: str, cluster: AskedCluster) -> None:
    if name == "profile":
        return  # it is about one object, and kubectl has none of these flags for edits
    result = await cluster.run(*ROWS[name].words, "-A")
    assert result.exit_code == ROWS[name].ends, result.stderr


@pytest.mark.parametrize("words", [("explain", "web"), ("history", "pod/web")], ids=" ".join)
async def test_a_pod_is_not_named_across_all_namespaces(words: Words, cluster: AskedCluster) -> None:
    result = await cluster.run(*words, "-A", "--source", "local")
    assert result.exit_code == 2
    assert result.stderr == "a pod cannot be named across all namespaces; write -n NAMESPACE instead of -A\n"


async def test_pods_of_an_owner_in_all_namespaces(cluster: AskedCluster) -> None:
    pod = pod_manifest("web-1", namespace="lab", cpu="7")
    pod["metadata"] |= owned("ReplicaSet", "web-abc")
    cluster.api.put("pods", pod)
    found = await cluster.data("explain", "deploy/web", "-A", "--source", "local")
    assert [(each["namespace"], each["name"]) for each in found["items"]] == [("shop", "web"), ("lab", "web-1")]


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.asks and row.schema])
async def test_titles_of_columns_can_be_left_out(name: str, cluster: AskedCluster) -> None:
    row = ROWS[name]
    if row.prints.isupper():
        assert row.prints not in (await cluster.run(*row.words, "--no-headers")).stdout
