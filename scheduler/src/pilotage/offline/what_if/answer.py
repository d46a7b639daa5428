"""The answer to a what-if, as JSON; fields are only ever added."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from pilotage.framework.api.remedies import as_json
from pilotage.offline.what_if.use import Use

KIND = "WhatIfAnswer"
Verdict = Literal["fits", "partly", "no", "unknown"]
ELSEWHERE = "pods of other namespaces"


class Pods(Struct, frozen=True, rename="camel"):
    """How many pods the question is about: new ones, and those that need another place."""

    asked: int = 0
    placed: int = 0
    waiting: int = 0


class Shape(Struct, frozen=True, rename="camel"):
    """The pods of one owner."""

    owner: str
    namespace: str
    asked: int
    placed: int
    now: int | None = None  # how many would be placed without the other changes
    stopped_by: str = ""
    where: str = ""


class Placement(Struct, frozen=True, rename="camel"):
    """How many pods of an owner go to a node."""

    owner: str
    namespace: str
    node: str
    count: int


class Row(Struct, frozen=True, rename="camel"):
    """One pod and its node."""

    pod: str
    node: str


class Waiting(Struct, frozen=True, rename="camel"):
    """Pods of an owner that find no place, for one reason."""

    owner: str
    namespace: str
    count: int
    reason: str
    example: str = ""
    remedies: Sequence[Any] = ()  # Remedy objects; `seen_by` turns them into JSON


class Eviction(Struct, frozen=True, rename="camel"):
    """A pod that is evicted, or cannot be because of a disruption budget."""

    pod: str
    by: str
    budget: str = ""
    violated: bool = False  # it is evicted although the budget does not allow it
    blocked: bool = False  # it stays because the budget does not allow the eviction
    lost: bool = False  # no controller replaces it


class Other(Struct, frozen=True, rename="camel"):
    """A pod that the question is not about, and its node; without a node it waits."""

    pod: str
    node: str = ""
    reason: str = ""


class Others(Struct, frozen=True, rename="camel"):
    """Pods that are already waiting and would get a node, and pods that lose theirs to others."""

    placed: Sequence[Other] = ()
    displaced: Sequence[Other] = ()
    placed_count: int = 0
    displaced_count: int = 0


class Fill(Struct, frozen=True, rename="camel"):
    """How many copies fit, and what stops the next one."""

    changes: str  # "now", or the changes
    copies: int
    stopped_by: str = ""
    message: str = ""
    by_node: Mapping[str, int] = {}
    where: str = ""


class UseChange(Struct, frozen=True, rename="camel"):
    """A resource before and after."""

    before: Use
    after: Use


class WhatIfAnswer(Struct, frozen=True, rename="camel", kw_only=True):
    """What would happen."""

    kind: str = KIND
    at: str = ""
    revision: int = 0
    source: str = ""
    verdict: Verdict = "unknown"
    summary: str = ""
    pods: Pods = Pods()
    shapes: Sequence[Shape] = ()
    placements: Sequence[Placement] = ()
    rows: Sequence[Row] = ()
    more_rows: int = 0
    waiting: Sequence[Waiting] = ()
    evictions: Sequence[Eviction] = ()
    more_evictions: int = 0
    others: Others | None = None
    fill: Fill | None = None
    capacity: Sequence[Fill] = ()
    use: Mapping[str, UseChange] = {}
    assumptions: Sequence[str] = ()
    profile_hash: str = ""
    seconds: float = 0.0  # of CPU

    def seen_by(
        self, may_list_nodes: bool, sees_namespace: Callable[[str], bool], words: Callable[[str], str]
    ) -> "WhatIfAnswer":
        """Return what a user may see of it; `words` cuts a sentence before the first foreign name."""
        answer = self._of_namespaces(sees_namespace)._in_words(words)
        if not may_list_nodes:
            answer = answer._without_nodes()
        waiting = [_with_remedies_seen(each, may_list_nodes, sees_namespace) for each in answer.waiting]
        return msgspec.structs.replace(answer, waiting=waiting)

    def _of_namespaces(self, sees: Callable[[str], bool]) -> "WhatIfAnswer":
        def shows(key: str) -> bool:
            return sees(key.partition("/")[0])

        others = self.others
        return msgspec.structs.replace(
            self,
            shapes=[each if sees(each.namespace) else _hidden(each) for each in self.shapes],
            placements=[each if sees(each.namespace) else _hidden(each) for each in self.placements],
            rows=[each for each in self.rows if shows(each.pod)],
            more_rows=self.more_rows + sum(not shows(each.pod) for each in self.rows),
            waiting=[each for each in self.waiting if sees(each.namespace)],
            evictions=[_seen_eviction(each, sees) for each in self.evictions],
            others=others
            and msgspec.structs.replace(
                others,
                placed=[each for each in others.placed if shows(each.pod)],
                displaced=[each for each in others.displaced if shows(each.pod)],
            ),
        )

    def _in_words(self, words: Callable[[str], str]) -> "WhatIfAnswer":
        others, fill = self.others, self.fill
        return msgspec.structs.replace(
            self,
            shapes=[msgspec.structs.replace(each, stopped_by=words(each.stopped_by)) for each in self.shapes],
            waiting=[msgspec.structs.replace(each, reason=words(each.reason)) for each in self.waiting],
            others=others
            and msgspec.structs.replace(
                others, placed=_in_words(others.placed, words), displaced=_in_words(others.displaced, words)
            ),
            fill=fill and _fill_in_words(fill, words),
            capacity=[_fill_in_words(each, words) for each in self.capacity],
            assumptions=[words(each) for each in self.assumptions],
        )

    def _without_nodes(self) -> "WhatIfAnswer":
        others, fill = self.others, self.fill
        return msgspec.structs.replace(
            self,
            shapes=[msgspec.structs.replace(each, where="") for each in self.shapes],
            placements=(),
            rows=(),
            more_rows=self.more_rows + len(self.rows),
            evictions=[each if "/" in each.by else msgspec.structs.replace(each, by="") for each in self.evictions],
            others=others
            and msgspec.structs.replace(
                others, placed=_somewhere(others.placed), displaced=_somewhere(others.displaced)
            ),
            fill=fill and msgspec.structs.replace(fill, by_node={}, where=""),
            capacity=[msgspec.structs.replace(each, by_node={}, where="") for each in self.capacity],
        )


def as_data(answer: WhatIfAnswer) -> dict[str, Any]:
    """Return plain data for JSON and YAML, for a user who may see everything."""
    data: dict[str, Any] = msgspec.to_builtins(answer.seen_by(True, lambda _namespace: True, lambda text: text))
    return data


def _hidden(each: Any) -> Any:
    return msgspec.structs.replace(each, owner=ELSEWHERE, namespace="")


def _seen_eviction(each: Eviction, sees: Callable[[str], bool]) -> Eviction:
    def name(key: str, instead: str) -> str:
        return key if not key or "/" not in key or sees(key.partition("/")[0]) else instead

    other = "a pod of another namespace"
    return msgspec.structs.replace(
        each, pod=name(each.pod, other), by=name(each.by, other), budget=name(each.budget, "a budget")
    )


def _in_words(others: Sequence[Other], words: Callable[[str], str]) -> list[Other]:
    return [msgspec.structs.replace(each, reason=words(each.reason)) for each in others]


def _with_remedies_seen(each: Waiting, may_list_nodes: bool, sees: Callable[[str], bool]) -> Waiting:
    seen = [remedy.seen_by(may_list_nodes, sees) for remedy in each.remedies]
    return msgspec.structs.replace(each, remedies=[as_json(remedy) for remedy in seen if remedy is not None])


def _fill_in_words(fill: Fill, words: Callable[[str], str]) -> Fill:
    told = {"changes": fill.changes, "message": fill.message, "stopped_by": fill.stopped_by}
    return msgspec.structs.replace(fill, **{name: words(text) for name, text in told.items()})


def _somewhere(others: Sequence[Other]) -> list[Other]:
    return [msgspec.structs.replace(each, node="a node" if each.node else "") for each in others]
