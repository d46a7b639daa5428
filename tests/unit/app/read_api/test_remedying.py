"""Remedies of a running scheduler: of gated pods and of gangs, which are tried in a copy of its cluster or counted."""

from typing import Any

import pytest

from kit.api_scene import SHOP, VIEWER, Begin, Scene
from kit.remedy_scene import GANGS
from pilotage.app import configured
from pilotage.app.core import Core
from pilotage.app.read_api import remedying
from pilotage.app.what_if_live import WhatIfs
from pilotage.offline.what_if import worlds
from pilotage.testing import make_pod

RING = "pod-group.pilotage.dev/name", "pod-group.pilotage.dev/min-available"
GATED = {"schedulingGates": [{"name": "example.com/quota"}]}
PATH = f"/pods/{SHOP}/{{}}/explain"


def what_ifs(core: Core) -> WhatIfs:
    ready = configured(GANGS)
    return WhatIfs(core, lambda: ready)


def members(number: int, needed: int, **fields: Any) -> list[Any]:
    labels = {RING[0]: "ring", RING[1]: str(needed)}
    return [make_pod(f"ring-{each}", namespace=SHOP, cpu="1", labels=labels, **fields) for each in range(number)]


def texts(found: Any) -> list[str]:
    return [each["text"] for each in found["remedies"]]


def counters(scene: Scene) -> list[Any]:
    cache = scene.live.core.cache
    return [cache.columns.static_version, cache.columns.pods_version, cache.objects.changes, cache.sizes()]


async def test_a_gated_pod(scene: Scene) -> None:
    scene.live.add_node("n1", cpu="2")
    scene.live.create(make_pod("web", namespace=SHOP, cpu="1", spec=GATED))
    found = await scene.get(PATH.format("web"))
    remedy = found["remedies"][0]
    assert remedy["text"] == (
        "remove the scheduling gate example.com/quota, or wait until the controller that set it does: fits on n1"
    )
    assert remedy["target"] == {"kind": "Pod", "group": "", "namespace": SHOP, "name": "web", "patchType": "merge"}
    assert remedy["patch"] == {"spec": {"schedulingGates": None}}
    assert remedy["verified"]
    assert found["fits"] == 1, "the table is about the pod without its gate"


async def test_a_gated_pod_that_would_not_fit(scene: Scene) -> None:
    scene.live.add_node("n1", cpu="2")
    scene.live.create(make_pod("web", namespace=SHOP, cpu="3", spec=GATED))
    found = await scene.get(PATH.format("web"), VIEWER)
    assert texts(found) == [
        "remove the scheduling gate example.com/quota, or wait until the controller that set it does, and "
        "ask for cpu 2 instead of 3 (no node is that large: the largest has 2): fits on 1 node"
    ]
    assert [step["code"] for step in found["remedies"][0]["steps"]] == ["openGates", "reduceRequest"]
    assert found["noRemedy"] == "without the gate the pod would wait: 0/1 nodes are available: 1 Insufficient cpu."


async def test_a_gang_is_tried_in_a_copy(begin: Begin) -> None:
    scene = await begin(what_ifs=what_ifs)
    scene.live.add_node("n1", cpu="2")
    scene.live.create(*members(3, 3))
    await scene.live.settle()
    before = counters(scene)
    found = await scene.get(PATH.format("ring-1"))
    assert texts(found) == ["ask for cpu 0.666 instead of 1 in every pod of the gang", "add one more node like n1"]
    assert all(each["verified"] for each in found["remedies"])
    assert found["noRemedy"] == "1 of 3 pods find no room at once"
    assert counters(scene) == before, "nothing was done in the cluster that runs"


async def test_a_nomination_takes_room_in_the_copy(begin: Begin) -> None:
    scene = await begin(what_ifs=what_ifs)
    scene.live.add_node("n1", cpu="3")
    nominated = make_pod("first", namespace="other", cpu="2", priority=5, status={"nominatedNodeName": "n1"})
    scene.live.create(*members(2, 2), nominated)
    found = await scene.get(PATH.format("ring-1"))
    assert found["noRemedy"] == "1 of 2 pods find no room at once"


@pytest.mark.parametrize("number", [0, worlds.MOST], ids=["no copies at all", "all copies are in use"])
async def test_without_a_copy_the_room_is_counted(begin: Begin, number: int) -> None:
    made: list[WhatIfs] = []

    def used_up(core: Core) -> WhatIfs:
        made.append(what_ifs(core))
        return made[0]

    scene = await begin(what_ifs=used_up if number else None)
    scene.live.add_node("n1", cpu="2")
    scene.live.create(*members(3, 3))
    for _ in range(number):
        made[0]._worlds.take()
    found = await scene.get(PATH.format("ring-1"))
    assert texts(found) == [
        "ask for cpu 0.666 instead of 1 in every pod of the gang (not tried: there is no copy of the cluster to try "
        "it in)",
        "add one more node like n1 (not tried: there is no copy of the cluster to try it in)",
    ]
    assert not any(each.get("verified") for each in found["remedies"])
    assert found["noRemedy"] == (
        "1 of 3 pods find no room at once, counted by free resources; together they ask for cpu 1"
    )


async def test_a_large_gang_is_counted(begin: Begin) -> None:
    scene = await begin(what_ifs=what_ifs)
    for number in range(40):
        scene.live.add_node(f"n{number}", cpu="4")
    scene.live.create(*members(200, 200))
    await scene.live.settle()  # until the gang is decided, answers wait, and not for long
    found = await scene.get(PATH.format("ring-7"))
    assert found["noRemedy"] == (
        "40 of 200 pods find no room at once, counted by free resources; together they ask for cpu 40"
    )
    assert texts(found) == [
        "ask for cpu 0.8 instead of 1 in every pod of the gang (not tried: the gang has more than 128 pods)",
        "add 10 more nodes like n0 (not tried: the gang has more than 128 pods)",
    ]


async def test_a_search_that_has_to_wait_too_long_is_ended(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.live.add_node("n1", cpu="2")
    scene.live.create(make_pod("web", namespace=SHOP, cpu="3"))
    await scene.live.settle()
    monkeypatch.setattr(scene.api._answering._remedying._budget, "_is_tentative", lambda: True)
    monkeypatch.setattr(scene.api.budget, "patience", 0.05)
    queued, engine = scene.live.core.queue.find(f"{SHOP}/web"), scene.live.core.engines["default-scheduler"]
    assert queued is not None
    found = await scene.api._answering._remedying._search(queued, engine)
    assert (found.remedies, found.note) == ((), remedying.NO_TIME)
