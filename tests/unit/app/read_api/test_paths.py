"""What each path answers, to whom, over a real socket."""

import json
from typing import Any

import msgspec
import pytest

from kit.api_scene import ADMIN, SHOP, STRANGER, VIEWER, Begin, Scene
from pilotage.cluster.credentials.delegated_auth import PathAttributes, ResourceAttributes
from pilotage.kinds.elastic_quota import ElasticQuota, ElasticQuotaSpec
from pilotage.model.metadata import Metadata
from pilotage.model.users import User
from pilotage.telemetry.pages import Answer, Question
from pilotage.testing import make_pod
from pilotage.views.paths import PATHS

NODE, NEIGHBOUR, PLACE = "node-of-others", "the-neighbour", "secret-place"
EXAMPLES = [
    "/access",
    "/queue",
    *(f"/queue?groupBy={by}" for by in ("reason", "plugin", "namespace", "owner", "shape", "profile", "gang")),
    "/queue?namespace=shop",
    "/pods/shop/waits",
    "/pods/shop/placed",
    "/pods/shop/waits/explain",
    "/pods/shop/waits/explain?nodes=rejected",
    f"/pods/shop/waits/explain?nodes={NODE}",
    "/pods/shop/placed/explain?nodes=fit",
    "/gangs",
    "/gangs?namespace=shop",
    "/gangs/shop/ring",
    "/quotas?namespace=shop",
    "/decisions",
    "/decisions?namespace=shop&outcome=placed",
]
OF_CLUSTER = ["/nodes", "/nodes?format=rows", f"/nodes/{NODE}", "/profiles", "/overview", "/plugins"]


async def fill(scene: Scene) -> None:
    """Two namespaces with pods that are placed and that wait, and a gang in each."""
    live = scene.live
    live.add_node(NODE, cpu="2")
    ring = {"pod-group.pilotage.dev/name": "ring", "pod-group.pilotage.dev/min-available": "3"}
    live.create(
        make_pod("placed", namespace=SHOP, cpu="500m"),
        make_pod("waits", namespace=SHOP, cpu="5"),
        make_pod("ring-0", namespace=SHOP, cpu="1", labels=ring),
        make_pod(NEIGHBOUR, namespace=PLACE, cpu="100m"),
        make_pod(f"{NEIGHBOUR}-waits", namespace=PLACE, cpu="7"),
        make_pod(f"{NEIGHBOUR}-ring", namespace=PLACE, cpu="1", labels=ring),
    )
    for namespace in (SHOP, PLACE):
        quota = ElasticQuota(Metadata(name="q", namespace=namespace), ElasticQuotaSpec(max={"cpu": "1k"}))
        live.core.objects.added(quota)
    await live.settle()


@pytest.mark.parametrize("path", [*EXAMPLES, *OF_CLUSTER])
async def test_every_answer_can_be_decoded(scene: Scene, path: str) -> None:
    await fill(scene)
    body = await scene.get(path)
    found = next(each for each in PATHS if each.match("/pilotage/v1" + path.partition("?")[0]) is not None)
    assert found.answer is not None
    assert msgspec.to_builtins(msgspec.convert(body, found.answer, strict=False)) == body
    assert body["revision"] == scene.api.revisions.now()


@pytest.mark.parametrize("path", EXAMPLES)
async def test_a_viewer_of_one_namespace_sees_no_foreign_name(scene: Scene, path: str) -> None:
    await fill(scene)
    text = json.dumps(await scene.get(path, VIEWER))
    assert not [name for name in (NODE, NEIGHBOUR, PLACE) if name in text]


@pytest.mark.parametrize("path", OF_CLUSTER)
async def test_a_viewer_of_one_namespace_may_not_see_the_cluster(scene: Scene, path: str) -> None:
    await fill(scene)
    status, message = await scene.refused(path, VIEWER)
    assert (status, "cannot" in message) == (403, True)


async def test_pods_of_another_namespace_are_refused_whether_they_exist_or_not(scene: Scene) -> None:
    await fill(scene)
    there = await scene.refused(f"/pods/{PLACE}/{NEIGHBOUR}", VIEWER)
    not_there = await scene.refused(f"/pods/{PLACE}/nobody", VIEWER)
    assert there[0] == not_there[0] == 403
    assert there[1].replace(NEIGHBOUR, "nobody") == not_there[1]


@pytest.mark.parametrize("path", ["/queue", "/gangs", "/quotas", "/decisions"])
async def test_without_any_right_lists_are_empty(scene: Scene, path: str) -> None:
    await fill(scene)
    body = await scene.get(path, STRANGER)
    assert not body.get("items")
    assert not body.get("total")


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        pytest.param("/access", "", 401, id="no token"),
        pytest.param("/access", "wrong", 401, id="an unknown token"),
        pytest.param("/nothing", ADMIN, 404, id="an unknown path"),
        pytest.param("/pods/shop", ADMIN, 404, id="half of a path"),
        pytest.param("/pods/shop/nobody", ADMIN, 404, id="a missing pod"),
        pytest.param("/pods/shop/nobody/explain", ADMIN, 404, id="an explanation of a missing pod"),
        pytest.param("/nodes/nowhere", ADMIN, 404, id="a missing node"),
        pytest.param("/gangs/shop/nobody", ADMIN, 404, id="a missing gang"),
        pytest.param("/profiles/nobody", ADMIN, 404, id="a missing profile"),
        pytest.param("/profiles/default-scheduler/diff", ADMIN, 404, id="a difference without a resource"),
        pytest.param("/queue?limit=0", ADMIN, 400, id="no items"),
        pytest.param("/queue?limit=501", ADMIN, 400, id="too many items"),
        pytest.param("/queue?limit=x", ADMIN, 400, id="a limit that is not a number"),
        pytest.param("/queue?limit=1&limit=2", ADMIN, 400, id="two limits"),
        pytest.param("/queue?groupBy=colour", ADMIN, 400, id="an unknown grouping"),
        pytest.param("/queue?sort=colour", ADMIN, 400, id="an unknown order"),
        pytest.param("/queue?place=heaven", ADMIN, 400, id="an unknown place"),
        pytest.param("/queue?continue=x", ADMIN, 400, id="an invalid continue token"),
        pytest.param("/queue?continue=W10", ADMIN, 400, id="a continue token of another path"),
        pytest.param("/nodes?format=xml", ADMIN, 400, id="an unknown format"),
        pytest.param(f"/nodes?columns={','.join(map(str, range(17)))}", ADMIN, 400, id="too many columns"),
        pytest.param("/decisions?outcome=great", ADMIN, 400, id="an unknown outcome"),
        pytest.param("/decisions?since=-1", ADMIN, 400, id="a negative number"),
        pytest.param("/decisions?node=node-of-others", VIEWER, 403, id="decisions for a node without the right"),
        pytest.param("/events?topics=gossip", ADMIN, 400, id="an unknown topic"),
        pytest.param("/events?topics=nodes", VIEWER, 403, id="events of nodes without the right"),
    ],
)
async def test_errors_are_statuses(scene: Scene, path: str, token: str, status: int) -> None:
    await fill(scene)
    found, body, _ = await scene.answer(path, token)
    assert (found, body["kind"], body["code"]) == (status, "Status", status)


async def test_other_methods_are_rejected(scene: Scene) -> None:
    async with scene.session().post(scene.url + "/queue") as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET")
    async with scene.session().head(scene.url + "/queue") as response:
        assert (response.status, await response.read()) == (200, b"")


async def test_an_unchanged_answer_is_not_sent_again(scene: Scene) -> None:
    await fill(scene)
    _, _, headers = await scene.answer("/queue")
    same = {"If-None-Match": headers["ETag"]}
    assert (await scene.answer("/queue", headers=same))[:2] == (304, None)
    assert (await scene.answer("/queue", VIEWER, headers=same))[0] == 200
    scene.live.create(make_pod("more", namespace=SHOP, cpu="9"))
    await scene.live.settle()
    assert (await scene.answer("/queue", headers=same))[0] == 200


async def test_answers_are_not_cached_by_clients(scene: Scene) -> None:
    _, _, headers = await scene.answer("/queue")
    assert headers["Cache-Control"] == "no-store, private"
    assert headers["X-Content-Type-Options"] == "nosniff"


async def test_pages_of_the_queue_have_every_pod_once(scene: Scene) -> None:
    pods = [make_pod(f"p{number}", namespace=SHOP, cpu="1") for number in range(25)]
    scene.live.create(*pods)
    seen, token = [], ""
    while True:
        body = await scene.get(f"/queue?sort=name&limit=10&continue={token}")
        seen += [each["name"] for each in body["items"]]
        assert body["total"] == 25
        if not (token := body.get("continue", "")):
            break
        scene.live.delete(pods.pop())
        scene.live.create(pods[0] if (await scene.get("/access")) is None else make_pod("a-new-one", namespace=SHOP))
        scene.live.delete(scene.live.api.pods["shop/a-new-one"])
        pods.append(make_pod(f"p{len(pods)}", namespace=SHOP, cpu="1"))
        scene.live.create(pods[-1])
    assert sorted(seen) == sorted({*seen})
    assert len(seen) == 25


async def test_the_token_of_dropped_decisions_has_expired(begin: Begin) -> None:
    scene = await begin(most_decisions=10)
    scene.live.create(*(make_pod(f"p{number}", namespace=SHOP) for number in range(10)))
    await scene.live.settle()
    token = (await scene.get("/decisions?limit=5"))["continue"]
    assert len((await scene.get(f"/decisions?limit=5&continue={token}"))["items"]) == 5
    scene.live.create(*(make_pod(f"q{number}", namespace=SHOP) for number in range(10)))
    await scene.live.settle()
    status, message = await scene.refused(f"/decisions?limit=5&continue={token}")
    assert status == 410
    assert "start again without it" in message


@pytest.mark.parametrize("path", [each for each in PATHS if each.leader_only], ids=lambda path: path.name)
async def test_a_standby_names_the_leader(scene: Scene, path: Any) -> None:
    await fill(scene)
    scene.leads = False
    filled = path.path.format(namespace=SHOP, name="waits")
    status, body, _ = await scene.answer(filled)
    assert (status, body["details"]["name"], body["details"]["kind"]) == (503, "scheduler-0", "pods")


@pytest.mark.parametrize("path", ["/access", "/pods/shop/waits/explain", "/nodes", "/profiles", "/openapi.json"])
async def test_a_standby_answers_what_needs_no_queue(scene: Scene, path: str) -> None:
    await fill(scene)
    scene.leads = False
    assert (await scene.answer(path))[0] == 200


async def test_rights_are_checked_in_at_most_256_namespaces(scene: Scene) -> None:
    scene.live.create(*(make_pod("p", namespace=f"ns-{number}") for number in range(300)))
    status, message = await scene.refused("/queue", VIEWER)
    assert (status, "?namespace=NAME" in message) == (400, True)
    asked = [each for _, each in scene.users.asked if isinstance(each, ResourceAttributes) and each.namespace]
    assert len(asked) == 256
    assert (await scene.get("/queue?namespace=shop", VIEWER))["kind"] == "Queue"
    assert (await scene.get("/access", VIEWER))["moreNamespaces"]


async def test_nothing_is_shown_while_the_api_server_is_down(scene: Scene) -> None:
    await fill(scene)
    scene.users.is_away = True
    status, body, headers = await scene.answer("/queue")
    assert (status, body["reason"], headers["Retry-After"]) == (503, "ServiceUnavailable", "1")


async def test_answers_wait_while_pods_are_being_placed(scene: Scene) -> None:
    scene.live.create(make_pod("active", namespace=SHOP))  # nobody places it in this test
    scene.api.budget._times = lambda: (0.0, 0.0)  # however long this machine rests meanwhile
    scene.api.budget.take(10.0)
    status, body, headers = await scene.answer("/queue")
    assert (status, headers["Retry-After"], body["details"]["retryAfterSeconds"]) == (503, "1", 1)
    await scene.live.settle()
    assert (await scene.answer("/queue"))[0] == 200


async def test_an_internal_error_shows_no_detail(scene: Scene, monkeypatch: Any) -> None:
    async def broken(_: object) -> Any:
        raise RuntimeError("s3cret")

    monkeypatch.setitem(scene.api._answering._by_path, "queue", broken)
    status, body, _ = await scene.answer("/queue")
    assert status == 500
    assert "s3cret" not in json.dumps(body)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("<img src=x onerror=alert(1)>", id="markup"),
        pytest.param("a" * 253, id="253 characters"),
        pytest.param('"}],"kind":"Queue"', id="JSON"),
        pytest.param("line\nevent: resync", id="a line break"),
    ],
)
async def test_names_are_data(scene: Scene, name: str) -> None:
    scene.live.create(make_pod(name, namespace=SHOP, cpu="9"))
    await scene.live.settle()
    _, body, headers = await scene.answer("/queue")
    assert headers["Content-Type"] == "application/json"
    assert [each["name"] for each in body["items"]] == [name]


async def test_no_credential_of_a_plugin_is_shown(scene: Scene) -> None:
    spec = {"metricProvider": {"address": "https://me:s3cret@prom", "token": "s3cret"}}
    resource = {
        "spec": {"plugins": [{"name": "Peaks", "args": spec}], "extenders": [{"tlsConfig": {"keyData": "s3cret"}}]},
        "status": {"lastGood": {"specHash": "1", "spec": {}}},
    }
    scene.profiles["default-scheduler"] = resource
    body = await scene.get("/profiles/default-scheduler/diff")
    assert [each["path"] for each in body["differences"]] == ["plugins", "extenders"]
    assert "s3cret" not in json.dumps(body)


async def test_rights_are_checked_by_each_path_and_not_by_the_guard(scene: Scene) -> None:
    """A user without a right to the path sees what their rights to pods give them."""
    await fill(scene)
    await scene.get("/queue", VIEWER)
    assert not [each for _, each in scene.users.asked if isinstance(each, PathAttributes)]


async def test_a_request_without_a_user_is_rejected(scene: Scene) -> None:
    for user in (None, User("system:anonymous")):
        answer = await scene.api.answer(Question("GET", "/pilotage/v1/queue", user=user))
        assert isinstance(answer, Answer)
        assert answer.status == 401
