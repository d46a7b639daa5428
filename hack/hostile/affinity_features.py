"""What may be large in the affinity of a pod."""

from random import Random

from hostile.pod_features import ZONE, Feature
from pilotage.testing import Manifest

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _part(pod: Manifest, part: str) -> Manifest:
    found: Manifest = pod["spec"].setdefault("affinity", {}).setdefault(part, {})
    return found


def pod_terms(part: str, *, soft: bool, key: str = "", app: str = "") -> Feature:
    """Return terms about other pods, over a key each or all over one, of an app each or all of one."""

    def grow(pod: Manifest, size: int, _random: Random) -> None:
        terms = _part(pod, part).setdefault(PREFERRED if soft else REQUIRED, [])
        for i in range(size):
            term = {"topologyKey": key or f"key-{i}", "labelSelector": {"matchLabels": {"app": app or f"a{i}"}}}
            terms.append({"weight": 1 + i % 100, "podAffinityTerm": term} if soft else term)

    return grow


def everybody(part: str, *, soft: bool) -> Feature:
    """Return terms about all pods of all namespaces, over a key each."""

    def grow(pod: Manifest, size: int, _random: Random) -> None:
        terms = _part(pod, part).setdefault(PREFERRED if soft else REQUIRED, [])
        for i in range(size):
            term = {"topologyKey": f"key-{i}", "labelSelector": {}, "namespaceSelector": {}}
            terms.append({"weight": 1, "podAffinityTerm": term} if soft else term)

    return grow


def long_selector(part: str) -> Feature:
    """Return one term whose selectors have as many requirements, of which all but the last are met by any pod."""

    def grow(pod: Manifest, size: int, _random: Random) -> None:
        absent = [{"key": f"k{i}", "operator": "DoesNotExist"} for i in range(size)]
        selector = {"matchExpressions": absent}
        term = {"topologyKey": ZONE, "labelSelector": selector, "namespaceSelector": selector}
        _part(pod, part).setdefault(REQUIRED, []).append(term)

    return grow


def long_values(pod: Manifest, size: int, _random: Random) -> None:
    """One term that has as many values."""
    values = [f"value-{i}" for i in range(size)]
    expression = {"key": "app", "operator": "NotIn", "values": values}
    term = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [expression]}, "namespaces": values}
    _part(pod, "podAntiAffinity").setdefault(REQUIRED, []).append(term)


def node_terms(pod: Manifest, size: int, _random: Random) -> None:
    """Terms about nodes, of which none matches."""
    terms = _part(pod, "nodeAffinity").setdefault(REQUIRED, {}).setdefault("nodeSelectorTerms", [])
    terms.extend({"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(size))


def node_requirements(pod: Manifest, size: int, _random: Random) -> None:
    """One term about nodes with as many requirements that any node meets."""
    terms = _part(pod, "nodeAffinity").setdefault(REQUIRED, {}).setdefault("nodeSelectorTerms", [])
    terms.append({"matchExpressions": [{"key": f"k{i}", "operator": "DoesNotExist"} for i in range(size)]})


def node_names(pod: Manifest, size: int, _random: Random) -> None:
    """One term with as many names of nodes."""
    names = [f"node-{i}" for i in range(size)]
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": names}
    terms = _part(pod, "nodeAffinity").setdefault(REQUIRED, {}).setdefault("nodeSelectorTerms", [])
    terms.append({"matchExpressions": [expression]})


def node_preferences(pod: Manifest, size: int, _random: Random) -> None:
    """Preferences about nodes."""
    preferences = _part(pod, "nodeAffinity").setdefault(PREFERRED, [])
    for i in range(size):
        expression = {"key": f"k{i}", "operator": "DoesNotExist"}
        preferences.append({"weight": 1 + i % 100, "preference": {"matchExpressions": [expression]}})


def node_bounds(pod: Manifest, size: int, _random: Random) -> None:
    """Terms that compare labels of nodes with numbers."""
    terms = _part(pod, "nodeAffinity").setdefault(REQUIRED, {}).setdefault("nodeSelectorTerms", [])
    operators = ("Gt", "Lt")
    terms.extend(
        {"matchExpressions": [{"key": f"n{i}", "operator": operators[i % 2], "values": [str(i)]}]} for i in range(size)
    )


AFFINITY_FEATURES: dict[str, tuple[Feature, int]] = {
    "soft affinity, a key each": (pod_terms("podAffinity", soft=True), 8_000),
    "soft affinity over zones": (pod_terms("podAffinity", soft=True, key=ZONE), 8_000),
    "soft affinity to one app over zones": (pod_terms("podAffinity", soft=True, key=ZONE, app="old"), 8_000),
    "hard affinity, a key each": (pod_terms("podAffinity", soft=False), 10_000),
    "hard affinity to one app over zones": (pod_terms("podAffinity", soft=False, key=ZONE, app="old"), 10_000),
    "hard anti-affinity, a key each": (pod_terms("podAntiAffinity", soft=False), 10_000),
    "hard anti-affinity over zones": (pod_terms("podAntiAffinity", soft=False, key=ZONE), 10_000),
    "hard anti-affinity to everybody, a key each": (everybody("podAntiAffinity", soft=False), 10_000),
    "soft anti-affinity to everybody, a key each": (everybody("podAntiAffinity", soft=True), 8_000),
    "a long selector in affinity": (long_selector("podAffinity"), 10_000),
    "a long selector in anti-affinity": (long_selector("podAntiAffinity"), 10_000),
    "long lists of values in anti-affinity": (long_values, 30_000),
    "node affinity, terms": (node_terms, 15_000),
    "node affinity, requirements": (node_requirements, 20_000),
    "node affinity, names of nodes": (node_names, 60_000),
    "node affinity, preferences": (node_preferences, 12_000),
    "node affinity, bounds": (node_bounds, 12_000),
}
