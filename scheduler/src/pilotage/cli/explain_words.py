"""The parts of an explanation as lines of text, from plain data, so that the small plugin can use them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pilotage.cli.configuration_flags import Configuration
from pilotage.cli.printing import age, span
from pilotage.cli.tables import table

KIND = "Explanation"
TITLE = "What would help, each tried on this cluster (-o yaml has the patches):"
UNTRIED = "What may help:"


@dataclass(frozen=True)
class By:
    """Which configuration decides, and what else is asked."""

    configuration: Configuration
    with_remedies: bool = True
    why_not: str = ""  # a node


class Detail(Enum):
    """How nodes are shown."""

    GROUPS = "groups"
    NODES = "nodes"
    ALL = "all"


def grouped(nodes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rejected nodes grouped by their reasons, the largest group first."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for each in nodes:
        key = (each["plugin"], *each["reasons"])
        first = {"plugin": each["plugin"], "reasons": list(each["reasons"]), "nodes": 0, "example": each["node"]}
        found.setdefault(key, first)["nodes"] += 1
    return sorted(found.values(), key=lambda each: (-each["nodes"], each["plugin"]))


def groups_lines(groups: Sequence[Mapping[str, Any]], *, fits: int = 0, total: int = 0) -> list[str]:
    """Return groups of nodes as a table."""
    lines = [f"  Fits on {fits} of {total} nodes."] if fits else []
    if not groups:
        return lines
    rows = [
        [each.get("plugin", ""), str(each["nodes"]), ", ".join(each["reasons"]), each.get("example", "")]
        for each in groups
    ]
    header = ["PLUGIN", "NODES", "BECAUSE", "SUCH AS"]
    if not any(row[3] for row in rows):
        header, rows = header[:3], [row[:3] for row in rows]
    return [*lines, *table(header, rows, right=(1,), indent="  ").splitlines()]


def remedies_lines(remedies: Sequence[Mapping[str, Any]], note: str = "") -> list[str]:
    """Return what would help, and who can do it; what could not be tried comes last."""
    lines = [f"  {note[:1].upper()}{note[1:].rstrip('.')}."] if note else []
    tried = [each for each in remedies if not each.get("untried")]
    untried = [each for each in remedies if each.get("untried")]
    for title, found in ((TITLE, tried), (UNTRIED, untried)):
        lines += [f"  {title}", *(f"    {_actor(each):7}{each['text']}" for each in found)] if found else []
    return lines


def node_lines(nodes: Sequence[Mapping[str, Any]], left: int = 0) -> list[str]:
    """Return nodes one by one."""
    if not nodes:
        return []
    rows = [[each["node"], "yes" if each["fits"] else "no", because(each), _total(each)] for each in nodes]
    lines = table(["NODE", "FITS", "BECAUSE", "TOTAL"], rows, right=(3,), indent="  ").splitlines()
    return [*lines, f"  {left} more nodes are not shown; use --all."] if left else lines


def attempts_lines(attempts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the attempts that the scheduler remembers, the newest first."""
    if not attempts:
        return ["  No attempt is known."]
    rows = [
        [
            age(each["at"]),
            str(each["n"]),
            each["outcome"],
            f"{each.get('feasible', 0)}/{each.get('nodes', 0)}",
            each.get("node", ""),
            each.get("message") or each.get("because", ""),
        ]
        for each in attempts
    ]
    header = ["AGO", "TRY", "OUTCOME", "FIT", "NODE", "MESSAGE"]
    if not any(row[4] for row in rows):
        header, rows = [*header[:4], header[5]], [[*row[:4], row[5]] for row in rows]
    return table(header, rows, right=(1, 3), indent="  ").splitlines()


def place_line(view: Mapping[str, Any]) -> str:
    """Return the position of a pod in the queue, and how long similar pods have waited."""
    parts = []
    position = view.get("position")
    if position:
        parts.append(f"{position['ahead']} of {position['total']} pods are ahead of it")
    if view.get("attempts"):
        tries = view["attempts"][0].get("n", len(view["attempts"]))
        parts.append("tried once" if tries == 1 else f"tried {tries} times")
    estimate = view.get("estimate")
    if estimate:
        parts.append(f"of the last {estimate['basis']} pods like it, half waited another {span(estimate['p50'])}")
    return f"  In the queue ({view['place']}): {', '.join(parts)}." if view.get("place") and parts else ""


def _actor(remedy: Mapping[str, Any]) -> str:
    return "" if remedy.get("actor") == "wait" else f"{remedy.get('actor', '')}:"


def because(node: Mapping[str, Any]) -> str:
    """Return why a pod does not fit on a node."""
    reasons, details = node.get("reasons") or [], node.get("details") or []
    details = [*details, *[""] * (len(reasons) - len(details))]
    text = ", ".join(f"{one} ({more})" if more else one for one, more in zip(reasons, details, strict=False))
    told = f"{node['plugin']}: {text}" if node.get("plugin") else text
    return f"{told}; {node['spared']}" if node.get("spared") else told


def _total(node: Mapping[str, Any]) -> str:
    return str(node.get("total", "")) if node["fits"] else ""
