"""Pods that want to be near other pods, or far from them."""

from oracle.draw import POD_LABELS, TOPOLOGY_KEYS, Draw
from oracle.generate_cluster import nodes, pending, running
from oracle.generate_nodes import Parts
from oracle.scenario import Manifest

PROFILES = ("strong-affinity", "forgetful-affinity")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def inter_pod_affinity(draw: Draw) -> Parts:
    """Terms on both sides: of the pods to place and of the pods that are there."""
    cluster = nodes(draw, 3, 9)
    crowd = running(draw, cluster, 12, elsewhere=0.35)
    likely = draw.pick((0.0, 0.3, 0.7))
    for pod in crowd:
        if draw.chance(likely):
            with_pod_affinity(draw, pod)
    pods = [with_pod_affinity(draw, pending(draw, number, PROFILES)) for number in range(6)]
    return [*cluster, *crowd], pods


def with_pod_affinity(draw: Draw, pod: Manifest) -> Manifest:
    """Give a pod terms of some of the four kinds."""
    wish: Manifest = {}
    for side, need in (("podAffinity", 0.35), ("podAntiAffinity", 0.35)):
        terms: Manifest = {}
        if draw.chance(need):
            terms[REQUIRED] = [_term(draw, pod) for _ in range(draw.pick((1, 1, 2)))]
        if draw.chance(0.4):
            terms[PREFERRED] = [
                {"weight": draw.pick((1, 7, 50, 100)), "podAffinityTerm": _term(draw, pod)}
                for _ in range(draw.pick((1, 1, 2)))
            ]
        if terms:
            wish[side] = terms
    if wish:
        pod["spec"].setdefault("affinity", {}).update(wish)
    return pod


def _term(draw: Draw, pod: Manifest) -> Manifest:
    term: Manifest = {"topologyKey": draw.pick((*TOPOLOGY_KEYS, "absent"))}
    own = pod["metadata"].get("labels", {})
    # Half of the terms select the pod itself: that is the rule for the first pod of a group.
    selector = {"matchLabels": {"app": own["app"]}} if "app" in own and draw.chance(0.4) else draw.pod_selector()
    if selector is not None:
        term["labelSelector"] = selector
        free = [key for key in POD_LABELS if key not in str(selector)]
        if free and draw.chance(0.15):
            term[draw.pick(("matchLabelKeys", "mismatchLabelKeys"))] = draw.some(free, 1, 1)
    if draw.chance(0.2):
        term["namespaces"] = sorted(draw.some(("default", "blue", "green", "nowhere"), 1, 2))
    if draw.chance(0.25):
        choices: tuple[Manifest, ...] = (
            {},
            {"matchLabels": {"tier": "front"}},
            {"matchLabels": {"team": "blue"}},
            {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
        )
        term["namespaceSelector"] = draw.pick(choices)
    return term
