"""What would place a waiting pod: the smallest changes, who can make each of them, and how."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.node import Node
from pilotage.model.pod import Pod

# Who has to act: the pod's owner, the cluster's administrator, or neither of them: it happens without them.
Actor = Literal["owner", "admin", "wait"]
Value = int | str | tuple[str, ...]

NOTHING: Mapping[str, Any] = MappingProxyType({})
MOST_NAMED = 3  # pods that a sentence names


class NodeName(str):
    """The name of a node in a value; hidden from users who may not list nodes."""

    __slots__ = ()


class PodNames(tuple[str, ...]):
    """Pods as namespace/name in a value; users who may not see a namespace see only how many of its pods there are."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One field and its new value; amounts are whole numbers of the unit."""

    path: str
    from_: int | str | None
    to: int | str | None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a patch is for; a pod without an owner has to be created again."""

    kind: str
    name: str
    namespace: str = ""
    patch_type: Literal["strategic", "merge"] = "strategic"
    group: str = ""  # of its API, where the kind alone is ambiguous


@dataclass(frozen=True, slots=True)
class Difference:
    """The cluster with a remedy in place, so that the engine can try it."""

    pod: Pod | None = None  # instead of the waiting one
    nodes: tuple[Node, ...] = ()  # each replaces the node of its name, or is new
    objects: tuple[KubeObject, ...] = ()  # each replaces the object of its name, or is new
    leaving: tuple[Pod, ...] = ()  # placed pods that are gone
    arriving: tuple[Pod, ...] = ()  # additional placed pods, on new nodes
    agreeing: frozenset[str] = frozenset()  # plugins that no longer object, for whatever reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change, or a few that belong together, that would place a pod.

    `words` says what to do, with values in braces; `text` is the whole sentence. A `code` stands for one kind of
    remedy, so that the code and the values are enough to say the same in another language. A remedy that the engine
    cannot try, such as a volume that an administrator has to create, says why in `untried`; which nodes it opens is
    not known.
    """

    code: str
    actor: Actor
    words: str
    values: Mapping[str, Value] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    size: float = 1.0  # of the change, relative to what is there
    target: Target | None = None
    patch: Mapping[str, Any] | None = None
    difference: Difference = Difference()
    untried: str = ""  # why the engine cannot try it
    steps: tuple["Remedy", ...] = ()  # both changes, if it takes two
    plugin: str = ""  # the plugin that offers it
    nodes: int = 0  # how many nodes it opens
    example: str = ""  # one of them
    verified: bool = False  # the engine has tried it

    @property
    def text(self) -> str:
        """Return the whole sentence: what to do, and what it opens."""
        return self.to_do + self._opens()

    @property
    def to_do(self) -> str:
        """Return what to do, without what it opens."""
        if self.steps:
            return ", and ".join(step.to_do for step in self.steps)
        return self.words.format_map({name: _told(value) for name, value in self.values.items()})

    def _opens(self) -> str:
        if self.untried:
            return f" (not tried: {self.untried})"
        named = [value for step in (self, *self.steps) for value in step.values.values() if isinstance(value, NodeName)]
        if not self.nodes or self.example in named:
            return ""
        if not self.example:
            return f": fits on {_nodes(self.nodes)}"
        return (
            f": fits on {self.example}" if self.nodes == 1 else f": fits on {self.nodes} nodes, such as {self.example}"
        )

    def seen_by(self, may_list_nodes: bool, sees_namespace: Callable[[str], bool]) -> "Remedy | None":
        """Return what a user may see of it, without foreign names; None if the remedy is of no use without them."""
        if self.target is not None and self.target.namespace and not sees_namespace(self.target.namespace):
            return None
        steps = tuple(each for step in self.steps if (each := step.seen_by(may_list_nodes, sees_namespace)) is not None)
        if len(steps) < len(self.steps):
            return None
        values = {name: _without_pods(value, sees_namespace) for name, value in self.values.items()}
        changes = tuple(change for step in steps for change in step.changes) if steps else self.changes
        seen = replace(self, values=values, changes=changes, steps=steps, difference=Difference())
        return seen if may_list_nodes else seen._without_nodes()

    def _without_nodes(self) -> "Remedy":
        names = {self.example, *(str(value) for value in self.values.values() if isinstance(value, NodeName))} - {""}
        values = {name: _without_node(value, self.example) for name, value in self.values.items()}
        if self.target is not None and (self.target.name in names or _has_any(self.patch, names)):
            return replace(self, values=values, target=None, patch=None, changes=(), example="")
        return replace(self, values=values, example="")


def as_json(remedy: Remedy) -> dict[str, Any]:
    """Return a remedy as JSON; fields are only ever added."""
    target = remedy.target
    return {
        "code": remedy.code,
        "plugin": remedy.plugin,
        "actor": remedy.actor,
        "verified": remedy.verified,
        "untried": remedy.untried,
        "nodes": remedy.nodes,
        "example": remedy.example,
        "size": round(remedy.size, 4),
        "text": remedy.text,
        "values": {name: list(value) if isinstance(value, tuple) else value for name, value in remedy.values.items()},
        "changes": [_change_json(each) for each in remedy.changes],
        "target": None if target is None else _target_json(target),
        "patch": remedy.patch,
        "steps": [as_json(step) for step in remedy.steps],
    }


def _change_json(change: Change) -> dict[str, Any]:
    return {"path": change.path, "from": change.from_, "to": change.to, "unit": change.unit}


def _target_json(target: Target) -> dict[str, str]:
    return {
        "kind": target.kind,
        "group": target.group,
        "namespace": target.namespace,
        "name": target.name,
        "patchType": target.patch_type,
    }


def _told(value: Value) -> str:
    if not isinstance(value, tuple):
        return str(value)
    more = len(value) - MOST_NAMED
    return ", ".join(value[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"


def _without_pods(value: Value, sees_namespace: Callable[[str], bool]) -> Value:
    if not isinstance(value, PodNames):
        return value
    visible = tuple(key for key in value if sees_namespace(key.partition("/")[0]))
    hidden = len(value) - len(visible)
    return PodNames((*visible, *([_others(hidden)] if hidden else [])))


def _without_node(value: Value, name: str) -> Value:
    """Hide a node, and cut a plugin's text where it names one."""
    if isinstance(value, NodeName):
        return "a node"
    if isinstance(value, str) and name and (found := re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", value)):
        return value[: found.start()].rstrip() + " ..."
    return value


def _has_any(patch: Any, names: Set[str]) -> bool:
    """Return whether a patch contains any of these names."""
    if isinstance(patch, Mapping):
        return any(_has_any(each, names) for each in (*patch, *patch.values()))
    if isinstance(patch, list | tuple):
        return any(_has_any(each, names) for each in patch)
    return isinstance(patch, str) and patch in names


def _others(hidden: int) -> str:
    return "a pod of another namespace" if hidden == 1 else f"{hidden} pods of other namespaces"
