"""One-line builders of plain Kubernetes manifests, for tests that talk to a real API server."""

from collections.abc import Mapping, Sequence
from typing import Any

Manifest = dict[str, Any]
Quantities = Mapping[str, str | int]

# Never pulled: fake nodes run nothing, and it is loaded into real ones.
PAUSE_IMAGE = "localhost/pause:1"


def pod_manifest(
    name: str = "pod",
    *,
    namespace: str = "default",
    scheduler: str | None = None,
    cpu: str | int | None = None,
    memory: str | int | None = None,
    requests: Quantities | None = None,
    limits: Quantities | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    affinity: Manifest | None = None,
    tolerations: Sequence[Manifest] = (),
    priority_class: str | None = None,
    node: str | None = None,
    gates: Sequence[str] = (),
    host_ports: Sequence[int | Manifest] = (),
    init: Sequence[Quantities] = (),
    sidecars: Sequence[Quantities] = (),
    overhead: Quantities | None = None,
    image: str = PAUSE_IMAGE,
    spec: Manifest | None = None,
) -> Manifest:
    """Return a pod with one main container, with only the given fields.

    `init` and `sidecars` contain the requests of one container each; sidecars start before init containers. A host port
    is a number, or a map for protocol and address. `spec` adds or replaces any other field.
    """
    wants = {"cpu": cpu, "memory": memory, **(requests or {})}
    fields = _given(
        schedulerName=scheduler,
        nodeName=node,
        nodeSelector=node_selector,
        affinity=affinity,
        tolerations=list(tolerations),
        priorityClassName=priority_class,
        schedulingGates=[{"name": gate} for gate in gates],
        overhead=overhead,
        initContainers=_starting_first(image, init, sidecars),
        containers=[_container("main", image, wants, limits=limits, ports=[_host_port(port) for port in host_ports])],
    )
    metadata = _given(name=name, namespace=namespace, labels=labels, annotations=annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": fields | (spec or {})}


def _starting_first(image: str, init: Sequence[Quantities], sidecars: Sequence[Quantities]) -> list[Manifest]:
    return [
        *(_container(f"sidecar-{i}", image, wants, restartPolicy="Always") for i, wants in enumerate(sidecars)),
        *(_container(f"init-{i}", image, wants) for i, wants in enumerate(init)),
    ]


def node_manifest(
    name: str = "node",
    *,
    cpu: str | int = "4",
    memory: str | int = "32Gi",
    pods: int = 110,
    allocatable: Quantities | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Manifest] = (),
    unschedulable: bool = False,
    fake: bool = True,
) -> Manifest:
    """Return a node with this capacity, all of it allocatable; kwok keeps fake nodes ready."""
    capacity = {"cpu": str(cpu), "memory": str(memory), "pods": str(pods), **_texts(allocatable)}
    kwok_label = {"type": "kwok"} if fake else {}
    kwok_annotation = {"kwok.x-k8s.io/node": "fake"} if fake else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _given(
            name=name,
            labels={"kubernetes.io/hostname": name, **kwok_label, **(labels or {})},
            annotations={**kwok_annotation, **(annotations or {})},
        ),
        "spec": _given(taints=list(taints), unschedulable=unschedulable),
        "status": {"capacity": capacity, "allocatable": dict(capacity)},
    }


def _container(
    name: str,
    image: str,
    requests: Mapping[str, str | int | None],
    limits: Quantities | None = None,
    **fields: Any,
) -> Manifest:
    resources = _given(requests=_texts(requests), limits=_texts(limits))
    return {"name": name, "image": image, **_given(resources=resources, **fields)}


def _host_port(port: int | Manifest) -> Manifest:
    if isinstance(port, int):
        return {"containerPort": port, "hostPort": port}
    return {"containerPort": port["hostPort"], **port}


def _texts(quantities: Mapping[str, str | int | None] | None) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in (quantities or {}).items() if amount is not None}


def _given(**fields: Any) -> Manifest:
    # The API treats empty and absent fields alike; the short form is easier to read.
    return {key: value for key, value in fields.items() if value}
