"""The operator's I/O against a small server: what is asked, how answers are read, and how failures are told."""

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from pilotage.cluster.credentials.access import from_kubeconfig
from pilotage.cluster.write.microtime import format_microtime
from pilotage.model.metadata import Metadata
from pilotage_operator.cluster import Cluster, NotReachable, Refused, WorldChanged
from pilotage_operator.controllers.api import ControllerApi
from pilotage_operator.controllers.outcome import CreatePod, StatusEvent
from pilotage_operator.controllers.pod_groups import StoredPodGroup
from pilotage_operator.controllers.registry import POD_GROUPS
from pilotage_operator.controllers.watching import Held
from pilotage_operator.event_objects import EventBudget
from pilotage_operator.profiles.actions import DeleteProfile, PatchStatus, StampDeployment, WriteEvent, WriteFileEvent
from pilotage_operator.profiles.world import Right
from pilotage_operator.settings import settings_for

Answer = tuple[int, Any]
SETTINGS = settings_for("sys", "pilot")
PROFILES = "/apis/pilotage.dev/v1alpha1/schedulerprofiles"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Server:
    """Answers from a table, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[Any], Answer]] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.writes_as_the_api_server = False

    async def handle(self, request: web.Request) -> web.Response:
        text = await request.text()
        body = json.loads(text) if text else None
        self.asked.append((request.method, str(request.rel_url), body))
        found = self.answers.get(request.path, (404, {"reason": "NotFound", "message": "not found"}))
        status, answer = found(body) if callable(found) else found
        if self.writes_as_the_api_server:
            text = json.dumps(answer).replace("<", "\\u003c")
            return web.Response(text=text, status=status, content_type="application/json")
        return web.json_response(answer, status=status)


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, Cluster]]:
    playing = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", playing.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    cluster = Cluster(SETTINGS, from_kubeconfig(None, master=f"http://127.0.0.1:{port}"))
    yield playing, cluster
    await cluster.close()
    await runner.cleanup()


LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"


def renewed(ago: float, holder: str | None = "node-1_abc") -> Answer:
    when = format_microtime(datetime.now(UTC) - timedelta(seconds=ago))
    spec = {"holderIdentity": holder, "renewTime": when, "leaseDurationSeconds": 15}
    return 200, {"metadata": {"name": "kube-scheduler"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "lease", "expected"),
    [
        pytest.param({"schedulerName": "default-scheduler"}, lambda: renewed(2), "node-1_abc", id="it leads"),
        pytest.param({"schedulerName": "default-scheduler"}, lambda: renewed(300), "", id="it led long ago"),
        pytest.param({"schedulerName": "default-scheduler"}, lambda: renewed(2, None), "", id="nobody leads"),
        pytest.param({"schedulerName": "default-scheduler"}, lambda: (404, {}), "", id="there is no Lease"),
        pytest.param(
            {"schedulerName": "default-scheduler"}, lambda: (403, {"message": "no"}), "", id="we may not see it"
        ),
        pytest.param({}, lambda: renewed(2), "", id="no profile has its name"),
        pytest.param(None, lambda: renewed(2), "", id="a profile without a spec"),
    ],
)
async def test_who_leads_kube_scheduler(
    server: tuple[Server, Cluster], spec: Any, lease: Callable[[], Answer], expected: str
) -> None:
    playing, cluster = server
    playing.answers |= {
        PROFILES: (200, {"items": [{"metadata": {"name": "p"}, "spec": spec}]}),
        "/api/v1/namespaces/sys/pods": (200, {"items": []}),
        "/api/v1/namespaces/sys/configmaps": (200, {"items": []}),
        LEASE: lease(),
    }
    assert (await cluster.read_state(with_owner=False)).kube_scheduler == expected
    wanted = spec == {"schedulerName": "default-scheduler"}
    assert [path for _, path, _ in playing.asked if path == LEASE] == [LEASE] * wanted


async def test_the_world_is_looked_at(server: tuple[Server, Cluster]) -> None:
    playing, cluster = server
    pod = {"metadata": {"name": "s", "annotations": {"pilotage.dev/config-hash": "h"}, "labels": {"a": "b"}}}
    sources = [
        {"metadata": {"name": name, "creationTimestamp": created}, "data": dict.fromkeys(files, "x = 1")}
        for name, created, files in (("new", "2026-01-02", ["b.py", "test_b.py"]), ("old", "2026-01-01", ["a.py", "x"]))
    ]
    playing.answers |= {
        PROFILES: (200, {"items": [{"metadata": {"name": "p"}, "spec": {}}, {"metadata": 3}]}),
        "/api/v1/namespaces/sys/configmaps": (200, {"items": sources}),
        "/api/v1/namespaces/sys/pods": (200, {"items": [pod, {"metadata": {"name": "other"}}]}),
        "/apis/apps/v1/namespaces/sys/deployments/pilot-scheduler": (
            200,
            {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}}},
        ),
    }
    seen = await cluster.read_state(with_owner=True)
    assert [(source.name, [file.path for file in source.files]) for source in seen.plugin_sources] == [
        ("old", ["old/a.py"]),
        ("new", ["new/b.py"]),
    ], "the oldest first, and neither tests nor other files"
    assert [profile.name for profile in seen.profiles] == ["p"], "one that cannot be read stops no other"
    assert [(replica.name, replica.hash) for replica in seen.replicas] == [("s", "h")]
    assert (seen.config_map, seen.owner) == (None, None)
    asked = [path for _, path, _ in playing.asked]
    assert "/apis/rbac.authorization.k8s.io/v1/clusterroles/pilot-operator" in asked
    selectors = [URL(path).query.get("labelSelector") for path in asked]
    assert SETTINGS.scheduler_selector in selectors
    assert "pilotage.dev/plugins=pilot" in selectors


async def test_profiles_that_are_large_as_json_are_read_one_by_one(server: tuple[Server, Cluster]) -> None:
    playing, cluster = server
    text = "<" * 1_450_000
    profiles = [{"metadata": {"name": f"p{i}"}, "spec": {"description": text}} for i in range(9)]
    playing.answers |= {
        PROFILES: (200, {"items": profiles}),
        "/api/v1/namespaces/sys/configmaps": (200, {"items": []}),
        "/api/v1/namespaces/sys/pods": (200, {"items": []}),
    }
    playing.writes_as_the_api_server = True
    seen = await cluster.read_state(with_owner=False)
    assert [profile.name for profile in seen.profiles] == [f"p{i}" for i in range(9)]


async def test_an_answer_that_is_no_list_is_no_empty_list(server: tuple[Server, Cluster]) -> None:
    playing, cluster = server
    playing.answers[PROFILES] = 200, "sign in to this proxy"
    with pytest.raises(NotReachable, match="not a list"):
        await cluster.read_state(with_owner=False)


@pytest.mark.parametrize(
    ("status", "failure"),
    [(404, WorldChanged), (409, WorldChanged), (422, Refused), (403, Refused), (500, NotReachable)],
)
async def test_a_write_that_fails_says_how(
    server: tuple[Server, Cluster], status: int, failure: type[Exception]
) -> None:
    playing, cluster = server
    playing.answers[f"{PROFILES}/p/status"] = status, {"message": "no"}
    with pytest.raises(failure, match="no"):
        await cluster.do(PatchStatus("p", {"status": {}}))


async def test_a_server_that_is_not_there_is_told_as_such(server: tuple[Server, Cluster]) -> None:
    nobody = Cluster(SETTINGS, from_kubeconfig(None, master="http://127.0.0.1:1"))
    with pytest.raises(NotReachable):
        await nobody.read_state(with_owner=False)
    await nobody.close()


async def test_writes_go_where_they_belong(server: tuple[Server, Cluster]) -> None:
    playing, cluster = server
    deployment = "/apis/apps/v1/namespaces/sys/deployments/pilot-scheduler"
    playing.answers |= {deployment: (200, {}), f"{PROFILES}/p": (200, {})}
    await cluster.do(StampDeployment("h"))
    await cluster.do(DeleteProfile("p", "u"))
    template = {"metadata": {"annotations": {"pilotage.dev/config-hash": "h"}}}
    assert playing.asked == [
        ("PATCH", f"{deployment}?fieldManager=pilotage-operator", {"spec": {"template": template}}),
        ("DELETE", f"{PROFILES}/p", {"preconditions": {"uid": "u"}}),
    ]


async def test_an_event_that_is_lost_stops_nothing_and_one_with_a_key_is_told_once(
    server: tuple[Server, Cluster],
) -> None:
    playing, cluster = server
    event = WriteEvent("p", "u", "Warning", "Why", "because", once="key")
    await cluster.do(event)
    assert len(playing.asked) == 1, "it was refused"
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    playing.answers[path] = 201, {}
    await cluster.do(event)
    await cluster.do(event)
    assert len(playing.asked) == 2
    body = playing.asked[1][2]
    assert (body["reason"], body["note"], body["regarding"]["name"]) == ("Why", "because", "p")


async def test_rights_are_asked_as_the_scheduler_and_remembered(server: tuple[Server, Cluster]) -> None:
    playing, cluster = server
    playing.answers[REVIEWS] = lambda body: (
        201,
        body | {"status": {"allowed": body["spec"]["resourceAttributes"]["verb"] == "list"}},
    )
    yes, no = Right("", "pods/status", "list"), Right("", "pods", "delete")
    assert await cluster.rights([yes, no]) == {yes: "allowed", no: "denied"}
    spec = next(body["spec"] for _, _, body in playing.asked if body["spec"]["resourceAttributes"]["verb"] == "list")
    assert spec["user"] == "system:serviceaccount:sys:pilot-scheduler"
    assert spec["resourceAttributes"] == {"group": "", "resource": "pods", "subresource": "status", "verb": "list"}
    await cluster.rights([yes, no])
    assert len(playing.asked) == 2


async def test_a_resource_that_is_not_served_is_not_asked_for(server: tuple[Server, Cluster]) -> None:
    playing, cluster = server
    playing.answers |= {
        "/apis/x.io": (200, {"versions": [{"groupVersion": "x.io/v1"}, {"groupVersion": "x.io/v2"}]}),
        "/apis/x.io/v2": (200, {"resources": [{"name": "things"}]}),
        REVIEWS: lambda body: (201, body | {"status": {"allowed": True}}),
    }
    there, gone, nowhere = Right("x.io", "things", "get"), Right("x.io", "others", "get"), Right("y.io", "z", "get")
    assert await cluster.rights([there, gone, nowhere]) == {
        there: "allowed",
        gone: "unserved",
        nowhere: "unserved",
    }


ENDS = {"message": "it is being terminated", "details": {"causes": [{"reason": "NamespaceTerminating"}]}}


@pytest.mark.parametrize(
    ("answer", "warnings"),
    [
        pytest.param(ENDS, 0, id="the namespace is being deleted"),
        pytest.param({"message": "no right"}, 1, id="a right is missing"),
    ],
)
@pytest.mark.parametrize("by_controller", [True, False], ids=["of a controller", "of a plugin file"])
async def test_an_event_in_a_namespace_that_goes_is_not_worth_a_warning(
    server: tuple[Server, Cluster], caplog: pytest.LogCaptureFixture, answer: Any, warnings: int, by_controller: bool
) -> None:
    playing, cluster = server
    playing.answers["/apis/events.k8s.io/v1/namespaces/sys/events"] = 403, answer
    if by_controller:
        held = Held(StoredPodGroup(Metadata(name="g", namespace="sys")), {}, {})
        await ControllerApi(cluster).write_event(POD_GROUPS, held, StatusEvent("Normal", "Running", "all run"))
    else:
        await cluster.do(WriteFileEvent("p", "u", "why", "key"))
    assert len(playing.asked) == 1
    assert len(caplog.messages) == warnings


async def test_a_pod_in_a_namespace_that_goes_is_refused(server: tuple[Server, Cluster]) -> None:
    playing, cluster = server
    playing.answers["/api/v1/namespaces/sys/pods"] = 403, ENDS
    with pytest.raises(Refused, match="terminated"):
        await ControllerApi(cluster).do(CreatePod({"metadata": {"namespace": "sys"}}))


def test_events_have_a_budget() -> None:
    budget = EventBudget(3, 3600)
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
