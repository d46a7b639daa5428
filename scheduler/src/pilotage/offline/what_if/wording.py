"""The short texts of an answer: what stops a pod, and where pods go."""

import re
from collections import Counter
from collections.abc import Mapping

NODES_REASON = re.compile(r"\d+/\d+ nodes are available: (?P<reasons>.*?)(?:\. preemption:|\.?$|\. )", re.DOTALL)
ONE_REASON = re.compile(r"(?P<nodes>\d+) (?P<reason>.+)")
LACK = "Insufficient "
FULL = "Too many pods"
LONGEST = 90
FEW = 3
MOST_SORTED = 200  # names that are searched for a range of numbers
NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>\d+)")


def stopped_by(message: str) -> str:
    """Return what stops a pod, in a few words; of resources, the one that most nodes lack."""
    found = NODES_REASON.search(message)
    if found is None:
        first = message.partition(". ")[0].removesuffix(".")
        return first if len(first) <= LONGEST else f"{first[:LONGEST]}..."
    reasons: dict[str, int] = {}
    for part in found["reasons"].split(", "):
        one = ONE_REASON.fullmatch(part.rstrip("."))
        if one is not None:
            reasons[one["reason"]] = int(one["nodes"])
    if not reasons:
        return found["reasons"]
    lacking = {reason: nodes for reason, nodes in reasons.items() if reason.startswith((LACK, FULL))}
    among = lacking or reasons
    reason = max(among, key=among.__getitem__)
    return "pods" if reason == FULL else reason.removeprefix(LACK)


def where(nodes: Mapping[str, int]) -> str:
    """Return where pods go, in a few words: n1: 2, n2: 1; or gpu-1 to gpu-4: 8 each."""
    if not nodes:
        return ""
    counts = sorted(set(nodes.values()))
    if len(nodes) <= FEW and (len(counts) > 1 or len(nodes) == 1):
        return ", ".join(f"{name}: {nodes[name]}" for name in sorted(nodes, key=_in_order))
    each = f"{counts[0]} each" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} each"
    names = list(nodes) if len(nodes) > MOST_SORTED else sorted(nodes, key=_in_order)
    return f"{_names(names)}: {each}"


def counted(number: int, thing: str) -> str:
    """Return a number of things in words: 1 pod, 2 pods."""
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"


def listed(names: Counter[str]) -> str:
    """Return kinds with their numbers: ConfigMap 2, Ingress 1."""
    return ", ".join(f"{name} {number}" for name, number in names.most_common())


def _names(names: list[str]) -> str:
    if len(names) <= FEW:
        return ", ".join(names)
    if len(names) > MOST_SORTED:
        return f"{len(names)} nodes"
    parts = [NUMBERED.fullmatch(name) for name in names]
    stems = {part["stem"] for part in parts if part is not None}
    numbers = [int(part["number"]) for part in parts if part is not None]
    if len(stems) == 1 and numbers == list(range(numbers[0], numbers[0] + len(names))):
        return f"{names[0]} to {names[-1]}"
    return f"{len(names)} nodes"


def _in_order(name: str) -> tuple[str, int, str]:
    found = NUMBERED.fullmatch(name)
    return (found["stem"], int(found["number"]), name) if found and len(found["number"]) < 18 else (name, -1, name)
