"""A cluster in memory, and what would happen there if; for tests of what-ifs."""

from collections.abc import Iterable, Mapping
from typing import Any

from pilotage.app import Configured, configured
from pilotage.app.what_if import scheduling_of
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.request import read
from pilotage.offline.what_if.run import exhaust, run
from pilotage.offline.what_if.world import World, moment_in
from pilotage.testing import make_pod

DEFAULT = configured(None)
WITH = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {{multiPoint: {{enabled: [{plugins}]}}}}
"""


def with_plugins(*names: str) -> Configured:
    """Return kube-scheduler's defaults with more plugins."""
    return configured(WITH.format(plugins=", ".join(f"{{name: {name}}}" for name in names)))


def world_of(objects: Iterable[Any], ready: Configured = DEFAULT) -> World:
    """Return a copy of a cluster of objects."""
    return World(moment_in(objects), scheduling_of(lambda: ready))


def ask(
    objects: Iterable[Any] | World, *changes: Mapping[str, Any], ready: Configured = DEFAULT, **more: Any
) -> WhatIfAnswer:
    """Return what would happen."""
    world = objects if isinstance(objects, World) else world_of(objects, ready)
    return exhaust(run(read({"changes": list(changes), **more}), world))


def running(name: str, node: str, *, owner: str = "web", kind: str = "ReplicaSet", **fields: Any) -> Any:
    """Return a pod on a node that a controller makes anew when it is gone."""
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": owner, "controller": True}
    metadata = {"ownerReferences": [reference], **fields.pop("metadata", {})}
    return make_pod(name, uid=name, node=node, metadata=metadata, **fields)


def deployment(name: str = "web", replicas: int = 1, *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """Return a Deployment whose pods ask for a core, unless they are told otherwise."""
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(**spec)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def pod_spec(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """Return the spec of a pod with one container."""
    resources = {"requests": {"cpu": cpu}}
    return {"containers": [{"name": "main", "image": "x", "resources": resources}], **spec}


def nodes_of(answer: WhatIfAnswer) -> dict[str, int]:
    """Return how many pods go to each node."""
    found: dict[str, int] = {}
    for each in answer.placements:
        found[each.node] = found.get(each.node, 0) + each.count
    return found
