"""How full nodes are, and what of them is unusable, from the read API's columns of all nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

CPU, MEMORY, PODS = "cpu", "memory", "pods"
MAIN = (CPU, MEMORY)
FULL = 0.95  # with this share requested, a resource counts as exhausted
CORDONED, REPELS, NOMINATED, HELD = 1, 2, 4, 8
WORDS = {CORDONED: "cordoned", REPELS: "tainted", NOMINATED: "nominated", HELD: "held back"}
SORTS = ("name", CPU, MEMORY, PODS, "free", "stranded")


def fullness(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return each node with what is requested, free, and stranded: free while another resource is exhausted."""
    names = table.get("names") or []
    allocatable, requested = table.get("allocatable") or {}, table.get("requested") or {}
    counted, allowed = _column(table, "pods", names), _column(table, "allowed", names)
    zones, flags = _named(table, "zone", "zones", names), _column(table, "flags", names)
    types = _named(table, "type", "types", names)
    items = []
    for place, name in enumerate(names):
        of = {each: allocatable[each][place] for each in allocatable}
        asked = {each: requested.get(each, [0] * len(names))[place] for each in allocatable}
        told = {"name": name, "zone": zones[place], "type": types[place], "allocatable": of, "requested": asked}
        told |= {"pods": counted[place], "allowed": allowed[place], "flags": words(flags[place])}
        items.append({**told, "stranded": stranded(of, asked, counted[place], allowed[place])})
    total = {
        "allocatable": _sums(items, "allocatable"),
        "requested": _sums(items, "requested"),
        "stranded": _sums(items, "stranded"),
        "pods": sum(counted),
        "allowed": sum(allowed),
    }
    return {"kind": "TopNodes", "units": table.get("units") or {}, "total": total, "items": items}


def stranded(of: Mapping[str, int], asked: Mapping[str, int], pods: int, allowed: int) -> dict[str, int]:
    """Return what is free but unusable, because cpu, memory or the number of pods is exhausted."""
    shares = {each: asked[each] / of[each] for each in MAIN if of.get(each)}
    if allowed:
        shares[PODS] = pods / allowed
    full = {each for each, part in shares.items() if part >= FULL}
    if not full:
        return {}
    left = {each: max(of[each] - asked[each], 0) for each in of if each not in full}
    return {each: amount for each, amount in left.items() if amount}


def ranked(items: Sequence[Mapping[str, Any]], by: str) -> list[Mapping[str, Any]]:
    """Return nodes in an order: the fullest first, or those with the most free or stranded."""
    if by == "name":
        return sorted(items, key=lambda each: str(each["name"]))
    if by == PODS:
        return sorted(items, key=lambda each: -_part(each["pods"], each["allowed"]))
    if by == "free":
        return sorted(items, key=lambda each: _used(each))
    if by == "stranded":
        return sorted(items, key=lambda each: -_lost(each))
    return sorted(items, key=lambda each: -_part(each["requested"].get(by, 0), each["allocatable"].get(by, 0)))


def words(flags: int) -> list[str]:
    """Return the words for the flags of a node."""
    return [word for bit, word in WORDS.items() if flags & bit]


def _used(node: Mapping[str, Any]) -> float:
    return max(_part(node["requested"].get(each, 0), node["allocatable"].get(each, 0)) for each in MAIN)


def _lost(node: Mapping[str, Any]) -> float:
    return max((_part(amount, node["allocatable"][each]) for each, amount in node["stranded"].items()), default=0.0)


def _part(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _sums(items: Sequence[Mapping[str, Any]], key: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in items:
        for name, amount in each[key].items():
            found[name] = found.get(name, 0) + amount
    return found


def _column(table: Mapping[str, Any], name: str, names: Sequence[str]) -> Sequence[int]:
    return table.get(name) or [0] * len(names)


def _named(table: Mapping[str, Any], name: str, values: str, names: Sequence[str]) -> Sequence[str]:
    """Return the texts of a column of indices."""
    known = table.get(values) or []
    return [known[place] for place in table[name]] if known and table.get(name) else [""] * len(names)
