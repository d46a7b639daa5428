"""The controllers of quotas, applications and networks on a small API server: what wakes them, and what they write."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from kit.custom_api import CustomApi
from kit.running_controllers import quiet, running, until
from kit.small_api import small_api
from pilotage.plugins.network._shared.app_groups import APP_GROUP
from pilotage.plugins.network._shared.costs import REGION
from pilotage_operator.controllers import elastic_quotas, network_topologies
from pilotage_operator.controllers.pod_groups import LABEL

pytestmark = pytest.mark.usefixtures("quickly")

OLD = "2026-01-01T00:00:00Z"
WEB = {"kind": "Deployment", "name": "web", "selector": "web"}
STORE = {"kind": "Deployment", "name": "store", "selector": "store"}
SHOP = {
    "numMembers": 2,
    "topologySortingAlgorithm": "KahnSort",
    "workloads": [{"workload": STORE}, {"workload": WEB, "dependencies": [{"workload": STORE}]}],
}
USER_DEFINED = {"name": "UserDefined", "topologyList": []}


@pytest.fixture
async def api() -> AsyncIterator[CustomApi]:
    async with small_api(served := CustomApi("elasticquotas", "appgroups", "networktopologies", "podgroups")):
        yield served


def add_pod(api: CustomApi, name: str, namespace: str = "team", phase: str = "Running", **fields: Any) -> None:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": fields.pop("cpu", "500m")}}}
    node = {"nodeName": "n1"} if fields.pop("bound", True) else {}
    spec = {"containers": [container]} | node
    metadata = {"uid": f"{namespace}/{name}", "labels": fields.pop("labels", {})}
    api.make("pods", name, namespace, metadata=metadata, spec=spec, status={"phase": phase}, **fields)


def add_namespace(api: CustomApi, name: str, **labels: str) -> None:
    api.put("namespaces", {"metadata": {"name": name, "uid": name, "labels": labels}})


def add_node(api: CustomApi, name: str, region: str) -> None:
    api.put("nodes", {"metadata": {"name": name, "uid": name, "labels": {REGION: region}}})


def status(api: CustomApi, plural: str, name: str, namespace: str = "team") -> dict[str, Any]:
    found: dict[str, Any] = api.find(plural, name, namespace).get("status", {})
    return found


def used(api: CustomApi, name: str = "q", namespace: str = "team") -> dict[str, str]:
    found: dict[str, str] = status(api, "elasticquotas", name, namespace).get("used", {})
    return found


def said(api: CustomApi, plural: str, name: str, kind: str, namespace: str = "team") -> str:
    told = status(api, plural, name, namespace).get("conditions", ())
    return next((f"{each['status']} {each['reason']}" for each in told if each["type"] == kind), "")


# ----------------------------------------------------------------------------------------------------------- quotas


async def test_what_a_quota_has_used_follows_its_pods(api: CustomApi) -> None:
    api.make("elasticquotas", "q", spec={"max": {"cpu": "4", "pods": 9}})
    add_pod(api, "waits", bound=False, phase="Pending")
    async with running(api):
        await until(lambda: used(api) == {"cpu": "0", "pods": "0"})
        add_pod(api, "waits", phase="Pending")
        add_pod(api, "other", cpu="1")
        await until(lambda: used(api) == {"cpu": "1500m", "pods": "2"})
        add_pod(api, "other", cpu="1", phase="Succeeded")
        await until(lambda: used(api) == {"cpu": "500m", "pods": "1"})
        api.delete("pods", "waits", "team")
        await until(lambda: used(api) == {"cpu": "0", "pods": "0"})
        await quiet(api)
    assert said(api, "elasticquotas", "q", "Valid") == "True BoundsAreValid"
    assert {(each["reason"], each["note"]) for each in api.events} == {
        ("Synced", "Elastic Quota team/q synced successfully")
    }


async def test_namespaces_come_under_a_quota_by_their_labels(api: CustomApi) -> None:
    api.make("elasticquotas", "q", spec={"max": {"cpu": 4}, "namespaceSelector": {"matchLabels": {"of": "team"}}})
    add_namespace(api, "elsewhere")
    add_pod(api, "p", "elsewhere", cpu="1")
    async with running(api):
        await until(lambda: used(api) == {"cpu": "0"})
        add_namespace(api, "elsewhere", of="team")
        await until(lambda: used(api) == {"cpu": "1"})
        api.make("elasticquotas", "older", "elsewhere", spec={"max": {"cpu": 4}}, metadata={"creationTimestamp": OLD})
        await until(lambda: used(api) == {"cpu": "0"} and used(api, "older", "elsewhere") == {"cpu": "1"})
        await until(lambda: said(api, "elasticquotas", "q", "Conflict") == "True OlderQuota")
        api.delete("elasticquotas", "older", "elsewhere")
        await until(lambda: used(api) == {"cpu": "1"})
        await until(lambda: said(api, "elasticquotas", "q", "Conflict") == "False NoConflict")


async def test_a_pod_has_no_other_quota_worked_out_and_quotas_are_settled_once(
    api: CustomApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []
    decide = elastic_quotas.status_of

    def watched(quota: Any, *others: Any) -> dict[str, Any]:
        looked_at.append(quota.metadata.namespace)
        return decide(quota, *others)

    monkeypatch.setattr(elastic_quotas, "status_of", watched)
    for number in range(20):
        api.make("elasticquotas", "q", f"ns{number}", spec={"max": {"cpu": 4}})
    async with running(api):
        await until(lambda: all(used(api, "q", f"ns{number}") for number in range(20)))
        await quiet(api)
        looked_at.clear()
        for number in range(10):
            add_pod(api, f"p{number}", "ns7", cpu="100m")
            add_pod(api, f"p{number}", "unserved")
        await until(lambda: used(api, "q", "ns7") == {"cpu": "1"})
        await quiet(api)
        assert set(looked_at) == {"ns7"}
        looked_at.clear()
        for number in range(10):
            add_pod(api, f"p{number}", "ns7", cpu="100m", labels={"any": "label"})
        await quiet(api)
        assert looked_at == []


# ----------------------------------------------------------------------------------------------------- applications


def order(api: CustomApi, namespace: str = "team") -> dict[str, int]:
    listed = status(api, "appgroups", "shop", namespace).get("topologyOrder", ())
    return {entry["workload"]["selector"]: entry["index"] for entry in listed}


def runs(api: CustomApi, namespace: str = "team") -> int | None:
    found: int | None = status(api, "appgroups", "shop", namespace).get("runningWorkloads")
    return found


async def test_an_application_has_an_order_and_counts_its_pods(api: CustomApi) -> None:
    labels = {APP_GROUP: "shop"}
    api.make("appgroups", "shop", spec=SHOP)
    add_pod(api, "web", labels=labels)
    async with running(api):
        await until(lambda: runs(api) == 1)
        assert order(api) == {"web": 1, "store": 2}
        add_pod(api, "store", "elsewhere", labels=labels)
        await until(lambda: runs(api) == 2)
        api.make("appgroups", "shop", "elsewhere", spec=SHOP)
        await until(lambda: (runs(api), runs(api, "elsewhere")) == (1, 1))
        api.delete("appgroups", "shop", "elsewhere")
        await until(lambda: runs(api) == 2)
        add_pod(api, "web", labels={})
        await until(lambda: runs(api) == 1)


async def test_an_application_that_cannot_be_sorted_tells_and_strangers_wake_nobody(api: CustomApi) -> None:
    api.make("appgroups", "shop", spec=SHOP | {"workloads": [{"workload": WEB}, {"workload": WEB}]})
    async with running(api):
        await until(lambda: said(api, "appgroups", "shop", "Accepted").startswith("False"))
        await quiet(api)
        before = list(api.writes)
        add_pod(api, "web", labels={APP_GROUP: "another"})
        await quiet(api)
    assert api.writes == before
    assert [each["type"] for each in api.events] == ["Warning"]


# --------------------------------------------------------------------------------------------------------- networks


def measured(api: CustomApi, latency: str) -> None:
    key = "netperf.p90.latency.milliseconds.origin.w.destination.e"
    api.put("configmaps", {"metadata": {"name": "netperf", "namespace": "team"}, "data": {key: latency}})


def costs(api: CustomApi) -> list[Any]:
    weights = api.find("networktopologies", "nt")["spec"]["weights"]
    found = [each for each in weights if each["name"] == "NetperfCosts"]
    return [
        (origin["origin"], cost["destination"], cost["networkCost"])
        for each in found
        for listed in each["topologyList"]
        for origin in listed["originList"]
        for cost in origin["costList"]
    ]


async def test_costs_come_from_a_config_map_and_the_places_of_nodes(
    api: CustomApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_topologies, "PAUSE", timedelta(0))
    api.make("networktopologies", "nt", spec={"configmapName": "netperf", "weights": [USER_DEFINED]})
    add_node(api, "w", "west")
    async with running(api):
        await until(lambda: said(api, "networktopologies", "nt", "Calculated") == "False ConfigMapNotFound")
        measured(api, "20")
        add_node(api, "e", "east")
        await until(lambda: ("west", "east", 20) in costs(api))
        await until(lambda: said(api, "networktopologies", "nt", "Calculated") == "True Measured")
        add_node(api, "e", "south")
        await until(lambda: ("west", "south", 20) in costs(api))
        await quiet(api)
        before = list(api.requests)
        add_node(api, "e", "south")  # what else changes of a node is no news
        await quiet(api)
    assert api.requests == before
    assert api.find("networktopologies", "nt")["spec"]["weights"][0] == USER_DEFINED
    assert status(api, "networktopologies", "nt")["nodeCount"] == 2
    assert [each["reason"] for each in api.events] == ["ConfigMapNotFound", "Measured"]


@pytest.mark.parametrize("name", ["../configmaps/netperf", "netperf?watch=true", "..", "NETPERF", ""])
async def test_a_name_that_is_none_asks_for_nothing(api: CustomApi, name: str) -> None:
    api.make("networktopologies", "nt", spec={"configmapName": name, "weights": []})
    measured(api, "20")
    async with running(api):
        await until(lambda: said(api, "networktopologies", "nt", "Calculated") == "False ConfigMapNotFound")
    assert not any("configmaps" in path for _, path in api.requests)


# ------------------------------------------------------------------------------------------------------ definitions


async def test_a_definition_without_status_is_left_alone(api: CustomApi, caplog: pytest.LogCaptureFixture) -> None:
    api.without_status.add("appgroups")
    api.make("appgroups", "shop", spec=SHOP)
    async with running(api):
        await until(lambda: "crds.adopt=true" in caplog.text)
        await asyncio.sleep(0.3)
        assert caplog.text.count("crds.adopt=true") == 1
        api.without_status.clear()
        await until(lambda: runs(api) == 0)


async def test_members_of_a_group_are_found_by_their_label(api: CustomApi) -> None:
    api.make("podgroups", "g", spec={"minMember": 1})
    add_pod(api, "a", labels={LABEL: "g"})
    add_pod(api, "a", "elsewhere", labels={LABEL: "g"})
    async with running(api):
        await until(lambda: status(api, "podgroups", "g").get("running") == 1)
        add_pod(api, "a", labels={LABEL: "another"})
        await until(lambda: status(api, "podgroups", "g").get("running") == 0)
