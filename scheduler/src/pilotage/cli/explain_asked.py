"""A pod explained by its scheduler or, without access to it, by its status."""

from collections.abc import Iterable
from typing import Any

from pilotage.cli.asking import Here
from pilotage.cli.command import BadInput
from pilotage.cli.explain_words import (
    KIND,
    By,
    Detail,
    attempts_lines,
    because,
    groups_lines,
    node_lines,
    place_line,
    remedies_lines,
)
from pilotage.cli.named import quoted
from pilotage.cluster.kubectl.refusals import Refused
from pilotage.cluster.kubectl.requests import namespaced
from pilotage.views.objects.waiting import message, reason_groups

PAGES = {Detail.GROUPS: "1", Detail.NODES: "50", Detail.ALL: "500"}  # nodes in one answer
# As `simulate --explain` has them; what a scheduler or a status does not say is empty.
EMPTY: dict[str, Any] = {
    "kind": KIND,
    "node": None,
    "message": "",
    "reason": "",
    "nominatedNode": "",
    "victims": [],
    "scores": {},
    "allocations": [],
    "before": None,
    "gang": None,
    "nodes": [],
    "remedies": [],
    "remediesNote": "",
}


async def by_scheduler(here: Here, name: str, detail: Detail, by: By) -> dict[str, Any]:
    """Ask the scheduler about a pod; Refused with 404 if it does not know the pod."""
    assert here.scheduler is not None
    path = f"/pods/{quoted(here.namespace)}/{quoted(name)}"
    view = await here.scheduler.get(path)
    query = {"remedies": "1" if by.with_remedies else "0", "limit": PAGES[detail], "nodes": by.why_not}
    told = await here.scheduler.get(f"{path}/explain", query)
    while detail is Detail.ALL and told.get("nodes", {}).get("continue"):
        more = {**query, "continue": told["nodes"]["continue"]}
        page = (await here.scheduler.get(f"{path}/explain", more)).get("nodes", {})
        told["nodes"] = {**page, "items": [*told["nodes"].get("items", ()), *page.get("items", ())]}
    return _data((here.namespace, name), view, told, detail, by)


def _data(key: tuple[str, str], view: dict[str, Any], told: dict[str, Any], detail: Detail, by: By) -> dict[str, Any]:
    reason = view.get("reason") or {}
    before = told.get("before")
    nodes = told.get("nodes") or {}
    return {
        **EMPTY,
        "source": "live",
        "namespace": key[0],
        "name": key[1],
        "schedulerName": view.get("profile", ""),
        "node": told.get("chosen") or None,
        "message": told.get("error") or reason.get("text", ""),
        "reason": reason.get("condition", ""),
        "before": None if before is None else {"plugin": before["plugin"], "reasons": before["reasons"]},
        "nodes": [] if detail is Detail.GROUPS else [_node(each) for each in nodes.get("items", ())],
        "remedies": told.get("remedies", []),
        "remediesNote": told.get("noRemedy", ""),
        "currentNode": view.get("node", "") if view.get("state") in ("assumed", "bound") else "",
        "statusMessage": reason.get("text", ""),
        "fits": told.get("fits", 0),
        "nodesTotal": told.get("nodesTotal", 0),
        "groups": told.get("groups", []),
        "view": view,
        **_why_not(told, nodes.get("items", ()), by.why_not),
    }


def _why_not(told: dict[str, Any], nodes: Iterable[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the comparison with a node; for a pod that fits nowhere, why it does not fit on that one."""
    text = told.get("whyNot")
    rejected = [f"{name} is rejected by {because(each)}" for each in nodes if each["node"] == name and not each["fits"]]
    text = text or (rejected[0] if name and rejected else "")
    return {"whyNot": {"node": name, "text": text}} if text else {}


def _node(each: dict[str, Any]) -> dict[str, Any]:
    scores = {score["plugin"]: {key: score[key] for key in ("raw", "normalized", "weighted")} for score in
              each.get("scores", ())}  # fmt: skip
    empty = {"plugin": "", "reasons": [], "details": [], "spared": "", "total": 0}
    return {**empty, **each, "scores": scores}


async def by_status(here: Here, name: str) -> dict[str, Any]:
    """Return what the pod's scheduler wrote to its status."""
    path = f"{namespaced('pods', here.namespace)}/{quoted(name)}"
    try:
        pod = await here.documents.get(path)
    except Refused as error:
        if not error.is_absent:
            raise
        raise BadInput(f"there is no pod {here.namespace}/{name}") from None
    spec, text = pod.get("spec") or {}, message(pod)
    return {
        **EMPTY,
        "source": "status",
        "namespace": here.namespace,
        "name": name,
        "schedulerName": spec.get("schedulerName") or "default-scheduler",
        "message": text,
        "currentNode": spec.get("nodeName", ""),
        "statusMessage": text,
        "fits": 0,
        "groups": reason_groups(text),
    }


def has_place(data: dict[str, Any]) -> bool:
    """Return whether the pod has a node or would get one now."""
    return bool(data["currentNode"] or data["node"] or data.get("fits"))


def lines(data: dict[str, Any], *, attempts: bool) -> list[str]:
    """Return the explanation as lines of text."""
    view = data.get("view") or {}
    told = [f"{data['name']}  {_fate(data)}"]
    if place := place_line(view):
        told.append(place)
    if data["before"] is not None:
        reasons = ", ".join(data["before"]["reasons"])
        told.append(f"  Before any node was considered, {data['before']['plugin']} said: {reasons}")
    if data["nodes"]:
        told += node_lines(data["nodes"], data["nodesTotal"] - len(data["nodes"]))
    else:
        told += groups_lines(data["groups"], fits=data["fits"], total=data.get("nodesTotal", 0))
    told += remedies_lines(data["remedies"], data["remediesNote"])
    told += [f"  {data['whyNot']['text']}"] if "whyNot" in data else []
    return [*told, *attempts_lines(view.get("attempts", ()))] if attempts else told


def _fate(data: dict[str, Any]) -> str:
    now = f"goes to {data['node']}" if data["node"] else "fits" if data["fits"] else f"waits: {data['message']}"
    if data["currentNode"]:
        again = "" if data["source"] == "status" else f"; if scheduled again now, it {now}"
        return f"is on {data['currentNode']}{again}"
    return now if data["fits"] or data["message"] else "waits: not attempted yet"
