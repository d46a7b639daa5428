"""Who answers: a scheduler behind a forwarded port, the API server, or a file; and what is said about it."""

import asyncio
from pathlib import Path

import pytest

from kit.asked_cluster import AskedCluster, asked_cluster

QUEUE = {"kind": "Queue", "at": "2026-01-01T00:00:00Z", "revision": 7, "source": "live"}
GROUP = {"key": "Insufficient cpu", "pods": 3, "oldest": "2026-01-01T00:00:00Z", "example": "shop/web-1"}
NO_API = "older releases have no read API; upgrade, or use --source local"


@pytest.fixture(autouse=True)
def three_pods_wait(live: AskedCluster) -> None:
    assert live.scheduler is not None
    live.scheduler.answers["/queue"] = {**QUEUE, "total": 3, "groups": [GROUP]}


async def test_a_scheduler_is_asked_over_a_forwarded_port_with_the_token_of_the_kubeconfig(live: AskedCluster) -> None:
    result = await live.run("queue", "-n", "shop")
    assert result.stderr == "note: source: the scheduler, as jane\n"
    assert "Insufficient cpu" in result.stdout
    assert live.scheduler is not None
    assert live.scheduler.asked[1] == ("/queue", {"groupBy": "reason", "namespace": "shop", "limit": "100"})
    assert live.scheduler.headers[-1]["Authorization"] == "Bearer secret"
    [forward] = [words for words in live.kubectl.commands() if "port-forward" in words]
    assert forward[-5:] == ["-n", "pilotage", "pod/leader", ":10260", "--address=127.0.0.1"]


async def test_the_token_of_a_service_account_is_shown_if_one_is_named(live: AskedCluster) -> None:
    await live.run("queue", "--token-from", "shop/asker")
    assert live.scheduler is not None
    assert live.scheduler.headers[-1]["Authorization"] == "Bearer token-of-asker"
    [made] = [words for words in live.kubectl.commands() if words[:2] == ["create", "token"]]
    assert made[2:] == ["asker", "-n", "shop", "--audience=pilotage", "--duration=10m"]


async def test_a_certificate_that_the_pod_announces_is_demanded(live: AskedCluster) -> None:
    assert live.scheduler is not None
    right = await asyncio.to_thread(lambda: live.scheduler.fingerprint)  # type: ignore[union-attr]
    live.replica("leader", leads=True, serving_certificate=right)
    assert (await live.run("queue", "--source", "live")).exit_code == 0
    live.scheduler.headers.clear()
    live.replica("leader", leads=True, serving_certificate="0" * 64)
    result = await live.run("queue", "--source", "live")
    assert result.exit_code == 2
    assert "certificate is not the one in its pod's annotation; nothing was sent to it" in result.stderr
    assert live.scheduler.headers == []


async def test_a_scheduler_at_an_address_of_its_own(live: AskedCluster) -> None:
    assert live.scheduler is not None
    result = await live.run("queue", "--source", live.scheduler.url)
    assert result.stderr == f"note: source: the scheduler at {live.scheduler.url}, as jane\n"


async def test_the_replica_that_holds_the_lease_is_asked_where_no_label_tells_who_leads(live: AskedCluster) -> None:
    live.api.delete("pods", "leader", "pilotage")
    live.replica("a-standby")
    live.replica("the-leader")
    lease = {"metadata": {"name": "s", "namespace": "pilotage"}, "spec": {"holderIdentity": "the-leader_1-2-3"}}
    live.api.answers["/apis/coordination.k8s.io/v1/namespaces/pilotage/leases"] = {"items": [lease]}
    await live.run("queue")
    assert "pod/the-leader" in live.kubectl.commands()[-1]


async def test_where_pods_of_all_namespaces_may_not_be_seen_the_usual_one_is_looked_at(live: AskedCluster) -> None:
    live.api.refusals["/api/v1/pods"] = 403
    assert (await live.run("queue", "-n", "shop", "--source", "live")).exit_code == 0


class TestWithoutAScheduler:
    """`auto` answers by itself and says why; `live` does not."""

    @pytest.fixture
    def waiting(self, cluster: AskedCluster) -> AskedCluster:
        cluster.pod("web", says="0/2 nodes are available: 2 Insufficient cpu.")
        return cluster

    async def asked(self, cluster: AskedCluster, why: str, *words: str) -> None:
        result = await cluster.run("queue", *words)
        assert result.exit_code == 0
        assert "Insufficient cpu" in result.stdout
        said = "note: source: pods and their status at the API server; no scheduler was asked: "
        assert result.stderr.startswith(said)
        assert why in result.stderr
        strict = await cluster.run("queue", "--source", "live", *words)
        assert strict.exit_code == 2
        assert strict.stderr.startswith("no scheduler answers: ")
        assert why in strict.stderr

    async def test_there_is_none(self, waiting: AskedCluster) -> None:
        await self.asked(waiting, "there is no scheduler of Pilotage")

    async def test_no_port_may_be_forwarded(self, waiting: AskedCluster) -> None:
        waiting.replica("leader", leads=True)
        await self.asked(waiting, "kubectl failed: unable to do port-forward")

    async def test_it_is_of_a_release_without_the_api(self, waiting: AskedCluster) -> None:
        waiting.replica("leader", leads=True)
        hangs_up = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        async with hangs_up:
            waiting.kubectl.forwards_to(hangs_up.sockets[0].getsockname()[1])
            await self.asked(waiting, NO_API)

    async def test_there_are_several_releases(self, waiting: AskedCluster) -> None:
        waiting.replica("one")
        waiting.replica("two", release="second")
        await self.asked(waiting, "there are several releases (pilotage/pilotage, pilotage/second); name one with")

    async def test_somebody_else_is_meant(self, waiting: AskedCluster) -> None:
        waiting.replica("leader", leads=True)
        await self.asked(waiting, "the scheduler does not support --as", "--as", "jane")

    async def test_kubectl_is_not_there(self, waiting: AskedCluster) -> None:
        waiting.replica("leader", leads=True)
        result = await waiting.run("queue", PATH="/nowhere")
        assert "kubectl is required, and not on PATH" in result.stderr
        assert "Insufficient cpu" in result.stdout

    async def test_it_knows_nobody_of_this_token(self, tmp_path: Path) -> None:
        async with asked_cluster(tmp_path, with_scheduler=True) as cluster:
            assert cluster.scheduler is not None
            cluster.pod("web", says="0/2 nodes are available: 2 Insufficient cpu.")
            cluster.scheduler.refusals["/access"] = 401
            await self.asked(cluster, "/access: the scheduler says 401")


async def test_somebody_else_is_named_to_the_api_server(cluster: AskedCluster) -> None:
    await cluster.run("queue", "--source", "local", "--as", "jane", "--as-group", "devs")
    acting = {name: value for name, value in cluster.api.headers.items() if name.startswith("Impersonate-")}
    assert acting == {"Impersonate-User": "jane", "Impersonate-Group": "devs"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["queue", "--as-group", "devs"], "--as-group requires --as; name the user", id="a group alone"),
        pytest.param(["queue", "-n", "shop", "-A"], "-n and -A exclude each other; use one of them", id="one and all"),
        pytest.param(
            ["queue", "--token-from", "asker", "--source", "https://127.0.0.1:1"],
            "--token-from asker: use NAMESPACE/SERVICEACCOUNT",
            id="an account without its namespace",
        ),
        pytest.param(
            ["queue", "--source", "https://127.0.0.1:1"], "no scheduler answers: the scheduler at", id="nobody there"
        ),
        pytest.param(["status", "--release", "nowhere/x"], "is Pilotage installed?", id="a strange release"),
    ],
)
async def test_bad_input_is_one_sentence(cluster: AskedCluster, words: list[str], told: str) -> None:
    result = await cluster.run(*words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""
