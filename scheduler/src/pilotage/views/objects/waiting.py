"""Who waits, out of pods as the API server shows them: their schedulers wrote the reasons into their status.

The answer has the shape of the read API's queue (`views.answers.waiting`), as far as pods tell it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pilotage.cluster.kubectl.names import GROUP_LABELS
from pilotage.cluster.kubectl.replicas import condition

Manifest = Mapping[str, Any]
Item = dict[str, Any]

GROUPINGS = ("reason", "plugin", "namespace", "owner", "profile")
# What the words of a plugin contain: messages of kube-scheduler and of ours are the same.
WORDS = (
    ("Insufficient ", "NodeResourcesFit"),
    ("Too many pods", "NodeResourcesFit"),
    ("untolerated taint", "TaintToleration"),
    ("node affinity/selector", "NodeAffinity"),
    ("were unschedulable", "NodeUnschedulable"),
    ("free ports", "NodePorts"),
    ("topology spread", "PodTopologySpread"),
    ("max volume count", "NodeVolumeLimits"),
    ("volume node affinity conflict", "VolumeBinding"),
    ("persistentvolumeclaim", "VolumeBinding"),
    ("persistent volumes to bind", "VolumeBinding"),
    ("affinity", "InterPodAffinity"),
    ("sibling pods", "Coscheduling"),
    ("quota", "CapacityScheduling"),
    ("resourceclaim", "DynamicResources"),
    ("scheduling gates", "SchedulingGates"),
)
# As views.reasons has them, which the small plugin cannot import; a test compares.
CODES = {
    "NodeResourcesFit": ("InsufficientResources", "wait"),
    "TaintToleration": ("UntoleratedTaint", "owner"),
    "NodeAffinity": ("NoMatchingNode", "owner"),
    "NodeUnschedulable": ("NodeCordoned", "admin"),
    "NodePorts": ("PortTaken", "wait"),
    "PodTopologySpread": ("TopologySpread", "wait"),
    "NodeVolumeLimits": ("TooManyVolumes", "wait"),
    "VolumeBinding": ("Volume", "owner"),
    "InterPodAffinity": ("PodAffinity", "wait"),
    "Coscheduling": ("GangNotComplete", "wait"),
    "CapacityScheduling": ("QuotaExceeded", "wait"),
    "DynamicResources": ("Device", "wait"),
    "SchedulingGates": ("Gated", "owner"),
}
OTHER = ("RejectedByPlugin", "wait")
TIERS = ("scheduler", "wait", "owner", "admin")  # what time can heal counts first, as in views.reasons
AVAILABLE = re.compile(r"^0/\d+ nodes are available: (.*?)\.?(?: preemption: .*)?$", re.DOTALL)
BETWEEN = re.compile(r",\s+(?=\d)")
COUNTED = re.compile(r"(\d+) (.+)", re.DOTALL)
NOT_TRIED = "no attempt has ended yet"
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
    """Return whether a pod has no node yet and may still get one."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    is_over = status.get("phase") in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp")
    return not spec.get("nodeName") and not is_over


def groups(items: Sequence[Item], group_by: str) -> list[dict[str, Any]]:
    """Return what items have in common, the largest group first."""
    found: dict[str, list[Item]] = {}
    for each in items:
        found.setdefault(_KEYS[group_by](each), []).append(each)
    told = [_group(key, together) for key, together in found.items()]
    return sorted(told, key=lambda each: (-each["pods"], each["key"]))


def _group(key: str, together: Sequence[Item]) -> dict[str, Any]:
    first = together[0]
    told = {
        "key": key,
        "pods": len(together),
        "oldest": first["since"],
        "example": f"{first['namespace']}/{first['name']}",
    }
    return {**told, "reason": first["reason"]} if "reason" in first else told


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
        code, tier = code_of(plugins)
        told["reason"] = {"text": text, "code": code, "tier": tier}
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


def reason_groups(text: str) -> list[dict[str, Any]]:
    """Return the nodes that a message counts, by reason, the largest group first."""
    found = AVAILABLE.match(text)
    if found is None:
        return []
    counted = (COUNTED.fullmatch(each) for each in BETWEEN.split(found[1]))
    groups = [{"plugin": _plugin(each[2]), "reasons": [each[2]], "nodes": int(each[1])} for each in counted if each]
    return sorted(groups, key=lambda each: -int(str(each["nodes"])))


def plugins_in(text: str) -> list[str]:
    """Return the plugins whose words a message contains."""
    found = (_plugin(each) for each in BETWEEN.split(short(text)))
    return list(dict.fromkeys(each for each in found if each))


def _plugin(reason: str) -> str:
    return next((plugin for words, plugin in WORDS if words in reason), "")


def code_of(plugins: Sequence[str]) -> tuple[str, str]:
    """Return what a rejection by these plugins means, and who can do something: owner, admin, or nobody but time."""
    return min((CODES.get(plugin, OTHER) for plugin in plugins), key=lambda code: TIERS.index(code[1]), default=OTHER)


def summary(text: str) -> str:
    """Return the reasons of a message without numbers, the most frequent first: the same for pods that wait alike."""
    return ", ".join(reason for each in reason_groups(text) for reason in each["reasons"]) or short(text)


def members(pods: Iterable[Manifest], kind: str, name: str) -> list[Any]:
    """Return the pods of an owner: deployment, job and the like, or the group that a label or the spec names."""
    return [pod for pod in pods if _belongs(pod, kind, name)]


def _belongs(pod: Manifest, kind: str, name: str) -> bool:
    if kind == "podgroup":
        labels = pod["metadata"].get("labels") or {}
        group = ((pod.get("spec") or {}).get("schedulingGroup") or {}).get("podGroupName")
        return name in (group, *(labels.get(label) for label in GROUP_LABELS))
    direct = [
        (str(each.get("kind", "")).lower(), each.get("name", ""))
        for each in pod["metadata"].get("ownerReferences") or ()
        if each.get("controller")
    ]
    made, _, of = owner(pod).partition("/")
    if kind == "cronjob":  # whose jobs have its name and a time
        return any(one == "job" and job.rpartition("-")[0] == name for one, job in direct)
    return (kind, name) in direct or (made.lower(), of) == (kind, name)


def alike(pods: Iterable[Manifest]) -> list[list[Any]]:
    """Return pods that wait for the same together, the most first."""
    found: dict[str, list[Any]] = {}
    for pod in pods:
        found.setdefault(message(pod), []).append(pod)
    return sorted(found.values(), key=lambda each: -len(each))


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


def _by_plugin(each: Item, plugin: str) -> bool:
    return not plugin or plugin in each.get("plugins", ())


_KEYS: dict[str, Callable[[Item], str]] = {
    "reason": lambda each: summary(each.get("reason", {}).get("text", "")) or NOT_TRIED,
    "plugin": lambda each: ", ".join(sorted(each.get("plugins", ()))),
    "namespace": lambda each: str(each["namespace"]),
    "owner": lambda each: f"{each['namespace']}/{each.get('owner') or each['name']}",
    "profile": lambda each: str(each["profile"]),
}
