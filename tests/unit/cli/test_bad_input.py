"""Bad input to the commands that ask about a cluster: a sentence that says what is wrong and what to do, and code 2."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from kit.asked_cluster import AskedCluster, asked_cluster
from kit.stand_in_kubectl import config
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest, pod_manifest

Words = tuple[str, ...]

EXAMPLES = REPOSITORY / "examples/what-if"
WEB = str(EXAMPLES / "web.yaml")
HERE: Words = ("--source", str(EXAMPLES / "cluster.yaml"))
GIVE = "give manifests, or the output of kubectl get -o yaml"
NO_API = "older releases have no read API; upgrade, or use --source local"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[AskedCluster]:
    """Two nodes, a pod that waits, a profile, and a release of which no scheduler answers."""
    async with asked_cluster(tmp_path) as found:
        for name in ("n1", "n2"):
            found.api.put("nodes", node_manifest(name, cpu="4", memory="8Gi", fake=False))
        found.api.put("pods", pod_manifest("web", namespace="default", cpu="6"))
        found.profile("batch", ("Ready", "True", "Acknowledged"))
        yield found


def is_one_sentence(result: Result, said: str) -> bool:
    """Whether a program ended as one does that has no answer."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr == f"{said}\n"
    return True


# --------------------------------------------------------------------------------------------------- wrong manifests

GOOD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}"
ODD = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{resources: {requests: {cpu: x}}}]}}"
IS_ODD = (
    "(Pod default/web): spec.containers[0].resources.requests[cpu]: 'x' is not a quantity: "
    "write it like 2, 0.5, 500m, 1e3 or 4Gi"
)
MANIFESTS: dict[str, tuple[list[str], str]] = {
    "a file that is no YAML": (
        ["kind: ["],
        "in.yaml, document 1, line 3: while parsing a flow node did not find expected node content",
    ),
    "a file that holds no object": (
        ["[1, 2]"],
        "in.yaml, document 1: an object is a map with apiVersion, kind and metadata",
    ),
    "an empty file": ([], "in.yaml contains no objects; give manifests, or the output of kubectl"),
    "an object without a version": (
        ["{kind: Pod, metadata: {name: web}}"],
        "in.yaml, document 1: apiVersion: Required value",
    ),
    "an amount that is no quantity": ([ODD], f"in.yaml, document 1 {IS_ODD}"),
    "the second object of a file": ([GOOD, ODD], f"in.yaml, document 2 {IS_ODD}"),
    "a Deployment without pods": (
        ["{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}"],
        "in.yaml, document 1 (Deployment web): spec.template: Required value: it says what the pods are like",
    ),
    "objects that are no pods and make none": (
        ["{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}"],
        "the manifests create no pods; give a Pod, a Deployment, a Job or the like",
    ),
    "a request with a field that there is not": (
        ["{kind: WhatIf, changes: [{addNode: {like: n1}}]}"],
        'unknown field "changes[0].addNode"; did you mean "addNodes"?',
    ),
    "two requests": (
        ["{kind: WhatIf}", "{kind: WhatIf}"],
        "the files contain 2 requests of kind WhatIf; use one at a time",
    ),
}


@pytest.mark.parametrize(("documents", "said"), MANIFESTS.values(), ids=MANIFESTS)
async def test_wrong_manifests_of_new_pods(
    cluster: AskedCluster, documents: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.yaml").write_text("".join(f"---\n{each}\n" for each in documents))
    assert is_one_sentence(await cluster.run("what-if", "-f", "in.yaml", *HERE), said)


FILES: dict[str, tuple[str | bytes | None, str]] = {
    "a file that is not there": (
        None,
        "cannot read in.yaml: No such file or directory; --source takes auto, live, local, a file or https://...",
    ),
    "a file that is no text": (b"\xff\xfe\x00", f"in.yaml is not UTF-8 text; {GIVE}"),
    "a file that is no JSON": (
        '{"a" 1}',
        f"in.yaml is not valid JSON (Expecting ':' delimiter: line 1 column 6 (char 5)); {GIVE}",
    ),
    "a file that holds no object": ("[1, 2]", f"in.yaml contains something other than Kubernetes objects; {GIVE}"),
}


@pytest.mark.parametrize(("content", "said"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("verb", ["queue", "status"])
async def test_wrong_files_in_place_of_a_cluster(
    cluster: AskedCluster,
    verb: str,
    content: str | bytes | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "in.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert is_one_sentence(await cluster.run(verb, "--source", "in.yaml"), said)


# ------------------------------------------------------------------------------------------ what is not there, too many

QUESTIONS: dict[str, tuple[Words, str]] = {
    "new nodes like a node that is not there": (
        ("what-if", "-f", WEB, "--add-nodes", "2", "--like", "n11", *HERE),
        'there is no node n11; did you mean "n1"?',
    ),
    "new nodes like a node of no similar name": (
        ("capacity", "-f", WEB, "--add-nodes", "2", "--like", "gpu", *HERE),
        "there is no node gpu; `kubectl get nodes` lists all of them",
    ),
    "a drain of a node that is not there": (("drain-sim", "n11", *HERE), 'there is no node n11; did you mean "n1"?'),
    "10,001 copies": (
        ("what-if", "-f", WEB, "--copies", "10001", *HERE),
        "--copies 10001: use a number from 1 to 10000; pilotage capacity shows how many fit",
    ),
    "3,334 copies of three pods": (
        ("what-if", "-f", WEB, "--copies", "3334", *HERE),
        "3334 copies of 3 pods: 10002 are more than the 10000 that a question may add; ask for fewer, or see how many "
        "fit (`pilotage capacity`)",
    ),
    "no copy": (
        ("what-if", "-f", WEB, "--copies", "0", *HERE),
        "--copies 0: use a number from 1 to 10000; pilotage capacity shows how many fit",
    ),
    "10,001 nodes": (
        ("what-if", "--add-nodes", "10001", "--like", "n1", *HERE),
        "--add-nodes 10001: use a number from 1 to 10000",
    ),
    "an effect that no taint has": (
        ("what-if", "--taint", "n1:gpu=yes:Never", *HERE),
        "--taint n1:gpu=yes:Never: use NODE:KEY=VALUE:NoSchedule|PreferNoSchedule|NoExecute, or NODE:KEY- to remove "
        "a taint",
    ),
    "a pod that runs nowhere": (
        ("what-if", "--evict", "shop/nobody", *HERE),
        "evict: there is no pod shop/nobody on a node; write NAMESPACE/POD",
    ),
    "a pod that is not there": (
        ("explain", "nobody", "--source", "local"),
        "there is no pod default/nobody, or it has finished; see kubectl get pods -n default",
    ),
    "an owner that has no pods": (
        ("explain", "deploy/web", "--source", "local"),
        "deployment/web has no pods in default; see kubectl get deployment/web -n default",
    ),
    "a profile that is not there": (
        ("diff", "bach"),
        "there is no SchedulerProfile bach; there are: batch",
    ),
    "a plugin's cost without a scheduler": (
        ("top", "plugins", "--source", "local"),
        "only a running scheduler knows what its plugins cost; use --source live",
    ),
}


@pytest.mark.parametrize(("words", "said"), QUESTIONS.values(), ids=QUESTIONS)
async def test_what_cannot_be_answered(cluster: AskedCluster, words: Words, said: str) -> None:
    assert is_one_sentence(await cluster.run(*words), said)


# ---------------------------------------------------------------------------------------------- no cluster, no rights

ASKING: dict[str, Words] = {
    "capacity": ("capacity", "-f", WEB),
    "diff": ("diff", "batch"),
    "doctor": ("doctor",),
    "drain-sim": ("drain-sim", "n1"),
    "explain": ("explain", "web"),
    "history": ("history", "batch"),
    "profile": ("profile", "enable", "batch", "Priority"),
    "queue": ("queue",),
    "status": ("status",),
    "top nodes": ("top",),
    "top plugins": ("top", "plugins"),
    "top shapes": ("top", "shapes"),
    "what-if": ("what-if", "--drain", "n1"),
}
EVERY = pytest.mark.parametrize("words", ASKING.values(), ids=ASKING)


@EVERY
async def test_no_cluster_is_configured(cluster: AskedCluster, words: Words) -> None:
    said = (
        "no cluster is configured: there is no service account of a pod, and neither $KUBECONFIG nor ~/.kube/config "
        "names a file; name one with --kubeconfig"
    )
    assert is_one_sentence(await cluster.run(*words, KUBECONFIG="/nowhere", HOME="/nowhere"), said)


@EVERY
async def test_the_cluster_does_not_respond(cluster: AskedCluster, words: Words) -> None:
    cluster.kubeconfig.write_text(str(config("http://127.0.0.1:1", {})))
    said = (
        "the API server at http://127.0.0.1:1 does not respond: no connection to 127.0.0.1 port 1: Connection refused; "
        "check its address, or name another --context"
    )
    assert is_one_sentence(await cluster.run(*words), said)


@EVERY
async def test_a_context_that_is_not_there(cluster: AskedCluster, words: Words) -> None:
    said = f"{cluster.kubeconfig}: there is no context 'elsewhere'; there is it"
    assert is_one_sentence(await cluster.run(*words, "--context", "elsewhere"), said)


GRANT = (
    "kubectl create clusterrolebinding explainer --clusterrole=pilotage-explainer.pilotage --user=YOU grants all of "
    "them (a ClusterRole of the chart; FULLNAME-explainer.NAMESPACE for another release)"
)
REFUSED = "refused by the test; pilotage doctor shows what you may do"
NONE = "no scheduler answers: refused by the test"
NO_RIGHTS: dict[str, tuple[Words, str]] = {
    "queue": (("queue", "--source", "local"), REFUSED),
    "status": (("status", "--source", "local"), REFUSED),
    "history of a profile": (("history", "batch", "--source", "local"), REFUSED),
    "history of a pod": (("history", "pod/web", "--source", "local"), REFUSED),
    "diff": (("diff", "batch"), REFUSED),
    "doctor": (("doctor",), REFUSED),
    "a scheduler that may not be looked for": (("queue", "--source", "live"), NONE),
    "plugins": (("top", "plugins"), NONE),
}


@pytest.mark.parametrize(("words", "said"), NO_RIGHTS.values(), ids=NO_RIGHTS)
async def test_no_rights(cluster: AskedCluster, words: Words, said: str) -> None:
    cluster.api.refusals |= {"/": 403}
    assert is_one_sentence(await cluster.run(*words), said)


MISSING_NODES = f"you are not allowed to list nodes in all namespaces; {GRANT}"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("drain-sim", "n1"), id="where nodes are drained"),
        pytest.param(("what-if", "--drain", "n1"), id="where nodes change"),
        pytest.param(("capacity", "-f", WEB), id="where pods are counted"),
    ],
)
async def test_no_right_to_list_nodes_and_no_scheduler_to_ask(cluster: AskedCluster, words: Words) -> None:
    cluster.api.refusals["/api/v1/nodes"] = 403
    said = f"{MISSING_NODES}; no scheduler answers: there is no scheduler of Pilotage"
    assert is_one_sentence(await cluster.run(*words), said)
    assert is_one_sentence(await cluster.run(*words, "--source", "local"), MISSING_NODES)


# ------------------------------------------------------------------------------------------------------- old servers


@asynccontextmanager
async def answering(text: bytes) -> AsyncIterator[int]:
    """Give the port of a server that says this to everything; nothing: it hangs up."""

    async def talk(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    "words",
    [("queue",), ("top",), ("top", "plugins"), ("top", "shapes"), ("explain", "web"), ("drain-sim", "n1")],
    ids=" ".join,
)
async def test_a_release_without_a_read_api(cluster: AskedCluster, words: Words) -> None:
    cluster.replica("leader", leads=True)
    async with answering(b"") as port:
        cluster.kubectl.forwards_to(port)
        result = await cluster.run(*words, "--source", "live")
    assert is_one_sentence(result, f"no scheduler answers: its port does not respond; {NO_API}")


@pytest.mark.parametrize("words", [("drain-sim", "n1"), ("capacity", "-f", WEB)], ids=" ".join)
async def test_a_release_that_answers_no_what_if(words: Words, tmp_path: Path) -> None:
    async with asked_cluster(tmp_path, with_scheduler=True) as cluster:
        result = await cluster.run(*words, "--source", "live")
    assert result.exit_code == 2
    note, said = result.stderr.splitlines()
    assert note == "note: source: the scheduler, as jane"
    assert said == (
        "the scheduler does not support what-if (/what-if: the scheduler says 404); upgrade it, or use --source local"
    )


DEFINITIONS: dict[str, tuple[Words, str]] = {
    "status": (("status", "--source", "local"), ""),
    "diff": (("diff", "batch"), ""),
    "history": (("history", "batch", "--source", "local"), "; for a pod write pod/batch"),
}


@pytest.mark.parametrize(("words", "more"), DEFINITIONS.values(), ids=DEFINITIONS)
async def test_a_cluster_without_pilotage(cluster: AskedCluster, words: Words, more: str) -> None:
    cluster.api.refusals["/apis/pilotage.dev"] = 404
    said = f"the cluster does not serve SchedulerProfiles; is Pilotage installed?{more}"
    assert is_one_sentence(await cluster.run(*words), said)


async def test_a_server_of_an_old_kubernetes_is_what_the_doctor_finds(cluster: AskedCluster) -> None:
    cluster.api.answers["/version"] = {"gitVersion": "v1.30.2"}
    found: Any = await cluster.data("doctor")
    assert {
        "check": "server",
        "state": "fault",
        "text": "Kubernetes v1.30.2 is too old",
        "do": "upgrade to 1.35 or newer",
    } in found["items"]
