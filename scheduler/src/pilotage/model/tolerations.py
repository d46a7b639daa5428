"""Taints of nodes, tolerations of pods, and how they match."""

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
LIFECYCLE = "node.kubernetes.io/"  # the prefix of taints that Kubernetes itself sets and removes
FORBIDDING = frozenset({NO_SCHEDULE, NO_EXECUTE})  # the effects that filters check

# Stricter than a label value: "007" and "+7" are not numbers here. Nineteen digits hold every 64-bit number.
CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")

TolerationsKey = tuple[tuple[str, str, str, str], ...]


class Taint(Struct, frozen=True, gc=False, rename="camel"):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        """Return the taint in kubectl's format: key=value:effect."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class Toleration(Struct, frozen=True, gc=False, rename="camel"):
    """A toleration of a pod; tolerationSeconds only concerns eviction and is not read."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint, *, comparisons: bool = False) -> bool:
        """Return whether it tolerates a taint; Lt and Gt require the feature gate for comparisons."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "" | "Equal":
                return self.value == taint.value  # also without a key: then any key with this value
            case "Exists":
                return True
            case "Lt" | "Gt" if comparisons:
                return self._compares(taint.value)
            case _:
                return False  # an unknown operator tolerates nothing, without an error

    def _compares(self, value: str) -> bool:
        bound, number = _integer(self.value), _integer(value)
        if bound is None or number is None:
            return False
        return number < bound if self.operator == "Lt" else number > bound


class Tolerated:
    """An index of tolerations, to match taints without a scan."""

    __slots__ = ("_compared", "_keys", "_values")

    def __init__(self, tolerations: Iterable[Toleration]) -> None:
        self._keys: set[tuple[str, str]] = set()  # with any value, by effect; "" means all effects
        self._values: set[tuple[str, str, str]] = set()
        self._compared: dict[str, list[Toleration]] = {}
        for each in tolerations:
            if each.operator == "Exists":
                self._keys.add((each.key, each.effect))
            elif each.operator in ("", "Equal"):
                self._values.add((each.key, each.value, each.effect))
            elif each.operator in ("Lt", "Gt"):
                self._compared.setdefault(each.key, []).append(each)

    def covers(self, taint: Taint, *, comparisons: bool = False) -> bool:
        """Return whether any of the tolerations covers the taint."""
        key, value, effect = taint.key, taint.value, taint.effect
        keys, values = self._keys, self._values
        if keys and ((key, effect) in keys or (key, "") in keys or ("", effect) in keys or ("", "") in keys):
            return True
        if values and any((name, value, kind) in values for name in (key, "") for kind in (effect, "")):
            return True
        return comparisons and any(
            each.tolerates(taint, comparisons=True) for name in (key, "") for each in self._compared.get(name, ())
        )


Tolerations = Collection[Toleration] | Tolerated


def tolerated(taint: Taint, tolerations: Tolerations, *, comparisons: bool = False) -> bool:
    """Return whether any of the tolerations covers the taint."""
    return coverage(tolerations).covers(taint, comparisons=comparisons)


def first_untolerated(
    taints: Iterable[Taint],
    tolerations: Tolerations,
    effects: Collection[str] = FORBIDDING,
    *,
    comparisons: bool = False,
) -> Taint | None:
    """Return the first taint with one of these effects that no toleration covers."""
    covers = coverage(tolerations).covers
    for taint in taints:
        if taint.effect in effects and not covers(taint, comparisons=comparisons):
            return taint
    return None


def count_untolerated_preferences(
    taints: Iterable[Taint], tolerations: Tolerations, *, comparisons: bool = False
) -> int:
    """Return how many PreferNoSchedule taints no toleration covers; the number of covered ones does not matter."""
    covers = coverage(tolerations).covers
    return sum(taint.effect == PREFER_NO_SCHEDULE and not covers(taint, comparisons=comparisons) for taint in taints)


def coverage(tolerations: Tolerations) -> Tolerated:
    """Return the index of tolerations, unless it is one already."""
    return tolerations if isinstance(tolerations, Tolerated) else Tolerated(tolerations)


def tolerations_key(tolerations: Iterable[Toleration]) -> TolerationsKey:
    """Return the same key for all lists of tolerations that tolerate the same taints by the same rules."""
    return tuple(sorted({_toleration_key(toleration) for toleration in tolerations}))


def _toleration_key(toleration: Toleration) -> tuple[str, str, str, str]:
    operator = toleration.operator or "Equal"
    value = "" if operator == "Exists" else toleration.value  # Exists ignores its value
    return toleration.key, operator, value, toleration.effect


def _integer(text: str) -> int | None:
    number = int(text) if CANONICAL_INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None
