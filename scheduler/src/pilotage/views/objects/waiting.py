"""Who waits, out of pods as the API server shows them: their schedulers wrote the reasons into their status.

The answer has the shape of the read API's queue (`views.answers.waiting`), as far as pods tell it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pilotage.cluster.kubectl.replicas import condition

Manifest = Mapping[str, Any]
Item = dict[str, Any]

GROUPINGS = ("reason", "plugin", "namespace", "owner", "profile")
# What a plugin's words contain, and who can usually do something: messages of kube-scheduler and of ours are the same.
WORDS = (
    ("Insufficient ", "NodeResourcesFit", "wait"),
    ("Too many pods", "NodeResourcesFit", "wait"),
    ("untolerated taint", "TaintToleration", "owner"),
    ("node affinity/selector", "NodeAffinity", "owner"),
    ("were unschedulable", "NodeUnschedulable", "admin"),
    ("free ports", "NodePorts", "owner"),
    ("topology spread", "PodTopologySpread", "owner"),
    ("affinity", "InterPodAffinity", "owner"),
    ("max volume count", "NodeVolumeLimits", "admin"),
    ("volume node affinity conflict", "VolumeBinding", "owner"),
    ("persistentvolumeclaim", "VolumeBinding", "owner"),
    ("persistent volumes to bind", "VolumeBinding", "admin"),
    ("sibling pods", "Coscheduling", "owner"),
    ("quota", "CapacityScheduling", "admin"),
    ("resourceclaim", "DynamicResources", "owner"),
)
AVAILABLE = re.compile(r"^0/\d+ nodes are available: (.*?)\.?(?: preemption: .*)?$", re.DOTALL)
GATED, ACTIVE, UNSCHEDULABLE = "gated", "active", "unschedulable"


def queue(
    pods: Iterable[Manifest], group_by: str = "", *, scheduler: str = "", plugin: str = "", at: str = ""
) -> dict[str, Any]:
    """Return the pods that wait: in groups, the largest first, or one by one, the oldest first."""
    found = [item(pod) for pod in pods if waits(pod)]
    chosen = [each for each in found if scheduler in ("", each["profile"]) and _by_plugin(each, plugin)]
    chosen.sort(key=lambda each: (each["since"], each["namespace"], each["name"]))
    answer: dict[str, Any] = {"kind": "Queue", "at": at, "revision": 0, "source": "local", "total": len(chosen)}
    if group_by:
        return {**answer, "groups": groups(chosen, group_by)}
    return {**answer, "items": chosen}


def waits(pod: Manifest) -> bool:
    """Tell whether a pod has no node yet and may still get one."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    is_over = status.get("phase") in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp")
    return not spec.get("nodeName") and not is_over


def groups(items: Sequence[Item], group_by: str) -> list[dict[str, Any]]:
    """Return what items have in common; one that several plugins turned down is in the group of each."""
    found: dict[str, list[Item]] = {}
    for each in items:
        for key in _KEYS[group_by](each):
            found.setdefault(key, []).append(each)
    told = [_group(key, members, group_by) for key, members in found.items()]
    return sorted(told, key=lambda each: (-each["pods"], each["oldest"], each["key"]))


def _group(key: str, members: Sequence[Item], group_by: str) -> dict[str, Any]:
    first = members[0]
    told = {
        "key": key,
        "pods": len(members),
        "oldest": first["since"],
        "example": f"{first['namespace']}/{first['name']}",
    }
    return {**told, "reason": first["reason"]} if group_by == "reason" and "reason" in first else told


def item(pod: Manifest) -> Item:
    """Return one pod that waits."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    told = {
        "namespace": metadata.get("namespace", "default"),
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "profile": spec.get("schedulerName") or "default-scheduler",
        "place": _place(pod),
        "since": metadata.get("creationTimestamp") or "1970-01-01T00:00:00Z",
        "priority": spec.get("priority") or 0,
        "owner": owner(pod),
        "nominatedNode": status.get("nominatedNodeName") or "",
    }
    text = message(pod)
    plugins = plugins_in(text)
    if text:
        told["reason"] = {"text": short(text), "code": _code(pod, plugins), "tier": tier(pod, text)}
    return {name: value for name, value in {**told, "plugins": plugins}.items() if value not in ("", [], 0)}


def message(pod: Manifest) -> str:
    """Return what its scheduler, or the API server, said last about why a pod waits."""
    found = condition(pod, "PodScheduled")
    if found.get("status") != "False":
        return ""
    return " ".join(str(found.get("message") or found.get("reason") or "").split())


def short(text: str) -> str:
    """Return the reasons of a scheduler's message, without the count of nodes and the outlook for preemption."""
    found = AVAILABLE.match(text)
    return (found[1] if found else text).removesuffix(".")


def plugins_in(text: str) -> list[str]:
    """Return the plugins whose words a message contains."""
    reasons = re.split(r",\s+(?=\d)", short(text))
    found = (next((plugin for words, plugin, _ in WORDS if words in each), "") for each in reasons)
    return list(dict.fromkeys(each for each in found if each))


def tier(pod: Manifest, text: str) -> str:
    """Return who can do something: the owner of the pod, an administrator, or nobody but time."""
    if _place(pod) == GATED:
        return "owner"
    return next((who for words, _, who in WORDS if words in text), "scheduler")


def owner(pod: Manifest) -> str:
    """Return what made a pod: Kind/name; of a ReplicaSet the Deployment, if its hash says that there is one."""
    metadata = pod["metadata"]
    for each in metadata.get("ownerReferences") or ():
        if each.get("controller"):
            kind, name = each.get("kind", ""), each.get("name", "")
            mark = (metadata.get("labels") or {}).get("pod-template-hash")
            if kind == "ReplicaSet" and mark and name.endswith(f"-{mark}"):
                return f"Deployment/{name.removesuffix(f'-{mark}')}"
            return f"{kind}/{name}"
    return ""


def _place(pod: Manifest) -> str:
    if (pod.get("spec") or {}).get("schedulingGates"):
        return GATED
    return UNSCHEDULABLE if condition(pod, "PodScheduled").get("status") == "False" else ACTIVE


def _code(pod: Manifest, plugins: Sequence[str]) -> str:
    reason = str(condition(pod, "PodScheduled").get("reason") or "")
    return reason if reason not in ("", "Unschedulable") else (plugins[0] if plugins else "Unschedulable")


def _by_plugin(each: Item, plugin: str) -> bool:
    return not plugin or plugin in each.get("plugins", ())


_KEYS: dict[str, Callable[[Item], Sequence[str]]] = {
    "reason": lambda each: [each.get("reason", {}).get("text") or "no attempt has ended yet"],
    "plugin": lambda each: each.get("plugins") or ["none"],
    "namespace": lambda each: [each["namespace"]],
    "owner": lambda each: [f"{each['namespace']}/{each.get('owner') or 'Pod/' + each['name']}"],
    "profile": lambda each: [each["profile"]],
}
