"""Spreading over zones, racks and nodes."""

from oracle.draw import HOSTNAME, POD_LABELS, TOPOLOGY_KEYS, ZONE, Draw
from oracle.generate_cluster import nodes, pending, running
from oracle.generate_nodes import Parts, affine, tolerations
from oracle.scenario import Manifest

UID = "00000000-0000-0000-0000-000000000001"


def topology_spread(draw: Draw) -> Parts:
    """Constraints of the pods themselves."""
    cluster = nodes(draw, 3, 9, taints=draw.pick((0.05, 0.3)))
    crowd = running(draw, cluster, 16, elsewhere=0.1)
    _close_a_zone(draw, cluster)
    if draw.chance(0.4):
        # All alike, so that every constraint counts every pod.
        for pod in crowd:
            pod["metadata"]["labels"] = {"app": "web", "version": "v1", "tier": "front"}
    pods = [spread_pod(draw, pending(draw, number, ("spread-by-list",))) for number in range(6)]
    return [*cluster, *crowd], pods


def default_spread(draw: Draw) -> Parts:
    """Constraints that the scheduler adds for pods of a service or a controller."""
    cluster = nodes(draw, 3, 9)
    crowd = running(draw, cluster, 16, elsewhere=0.1)
    _close_a_zone(draw, cluster)
    owners = [_owner(draw, number) for number in range(draw.number(0, 2))]
    services = [_service(draw, number) for number in range(draw.number(0, 2))]
    profiles = (None, "spread-by-list")
    pods = [_owned(draw, pending(draw, number, scheduler=draw.pick(profiles)), owners) for number in range(6)]
    return [*services, *owners, *cluster, *crowd], pods


def spread_pod(draw: Draw, pod: Manifest) -> Manifest:
    """Give a pod constraints of its own, and sometimes what they look at."""
    labels = pod["metadata"].setdefault("labels", {})
    if draw.chance(0.7):
        labels["app"] = draw.pick((*POD_LABELS["app"], "web"))
    found = {}
    for _ in range(draw.number(1, 3)):
        made = _constraint(draw)
        found[made["topologyKey"], made["whenUnsatisfiable"]] = made
    pod["spec"]["topologySpreadConstraints"] = list(found.values())
    if draw.chance(0.2):
        affine(draw, pod, ["nowhere"])
    elif draw.chance(0.3):
        pod["spec"]["nodeSelector"] = draw.pick(({ZONE: "a"}, {"rack": "1"}, {"disk": "ssd"}))
    if draw.chance(0.3):
        pod["spec"]["tolerations"] = tolerations(draw)
    return pod


def _close_a_zone(draw: Draw, cluster: list[Manifest]) -> None:
    """Sometimes nothing new may enter a zone, and yet it may count as the emptiest."""
    if draw.chance(0.5):
        zone = draw.pick(("a", "b", "c"))
        for node in cluster:
            if node["metadata"]["labels"].get(ZONE) == zone:
                node["spec"]["taints"] = [{"key": "dedicated", "value": "a", "effect": "NoSchedule"}]


def _constraint(draw: Draw) -> Manifest:
    made: Manifest = {
        "topologyKey": draw.pick((ZONE, HOSTNAME, "rack") if draw.chance(0.85) else (*TOPOLOGY_KEYS, "absent")),
        "maxSkew": draw.pick((1, 1, 2, 3)),
        "whenUnsatisfiable": draw.pick(("DoNotSchedule", "ScheduleAnyway")),
    }
    selector = draw.pod_selector()
    if selector is not None:
        made["labelSelector"] = selector
        free = [key for key in ("version", "tier", "missing") if key not in str(selector)]
        if draw.chance(0.25):
            made["matchLabelKeys"] = draw.some(free, 1, 2)
    if made["whenUnsatisfiable"] == "DoNotSchedule" and draw.chance(0.3):
        made["minDomains"] = draw.pick((1, 2, 3, 4, 9))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if draw.chance(0.35):
            made[policy] = draw.pick(("Honor", "Ignore"))
    return made


def _owner(draw: Draw, number: int) -> Manifest:
    kind = draw.pick(("ReplicaSet", "StatefulSet", "ReplicationController"))
    # The template must match the selector, and nothing ever looks at the template.
    labels = {"app": draw.pick(POD_LABELS["app"])} | ({"version": "v1"} if draw.chance(0.4) else {})
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "app"}]}}
    selector: Manifest = labels if kind == "ReplicationController" else {"matchLabels": labels}
    if kind == "ReplicaSet" and draw.chance(0.4):
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": [labels["app"], "other"]}]}
    return {
        "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
        "kind": kind,
        "metadata": {"name": f"owner-{number}", "namespace": "default"},
        "spec": {"replicas": 0, "selector": selector, "template": template},
    }


def _service(draw: Draw, number: int) -> Manifest:
    selector = draw.labels(POD_LABELS, 0.4)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"service-{number}", "namespace": "default" if draw.chance(0.85) else "blue"},
        "spec": {"clusterIP": "None", "ports": [{"port": 80}]} | ({"selector": selector} if selector else {}),
    }


def _owned(draw: Draw, pod: Manifest, owners: list[Manifest]) -> Manifest:
    if draw.chance(0.7):
        pod["metadata"].setdefault("labels", {})["app"] = draw.pick(POD_LABELS["app"])
    if owners and draw.chance(0.6):
        owner = draw.pick(owners)
        name = owner["metadata"]["name"] if draw.chance(0.9) else "gone"
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "uid": UID}
        pod["metadata"]["ownerReferences"] = [reference | {"controller": draw.chance(0.9)}]
    return pod
