"""All kinds: the classes in the modules of this folder; there is no other list."""

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import pilotage.kinds
from pilotage.kinds.kube_object import ApiKind, KubeObject
from pilotage.model.node import NodeObject
from pilotage.model.pod import PodObject

# Pods and nodes are decoded into special classes (Pod, Node) that the engine is optimised for.
POD = ApiKind("", "v1", "pods", "Pod", in_kubernetes=True)
NODE = ApiKind("", "v1", "nodes", "Node", "Cluster", in_kubernetes=True)


def _declared() -> Iterator[type[KubeObject]]:
    for module in pkgutil.iter_modules(pilotage.kinds.__path__, "pilotage.kinds."):
        if module.name != __name__:
            for found in vars(import_module(module.name)).values():
                own = isinstance(found, type) and found.__module__ == module.name
                if own and issubclass(found, KubeObject) and found is not KubeObject:
                    yield found


def in_order(kinds: Iterable[type[KubeObject]]) -> list[type[KubeObject]]:
    """Sort kinds for listings: those of Kubernetes first, then by group and name."""
    return sorted(kinds, key=lambda kind: (not kind.api.in_kubernetes, kind.api.group, kind.api.plural))


OURS: tuple[type[KubeObject], ...] = tuple(in_order(_declared()))


class KindTable:
    """Kinds by apiVersion and kind: ours, and those of custom plugins."""

    def __init__(self, more: Iterable[type[KubeObject]] = ()) -> None:
        self._apis: dict[type[Any], ApiKind] = {PodObject: POD, NodeObject: NODE}
        self._apis |= {kind: kind.api for kind in (*OURS, *in_order(kind for kind in more if kind not in OURS))}
        self._shapes: dict[tuple[str, str], tuple[type[Any], ...]] = {}
        for shape, api in self._apis.items():
            known = self._shapes.get((api.group, api.name), ())
            self._shapes[api.group, api.name] = (*known, shape)
        self.names = frozenset(api.name for api in self._apis.values())

    def shapes_of(self, manifest: Mapping[str, Any]) -> tuple[type[Any], ...]:
        """Return the classes that a manifest is decoded to; several if several plugins declare the kind.

        Versions are ignored, since the versions of a kind do not differ in the fields that are read.
        """
        group = str(manifest.get("apiVersion", "")).rpartition("/")[0]
        return self._shapes.get((group, str(manifest.get("kind", ""))), ())

    def api(self, shape: type[Any]) -> ApiKind:
        """Return how the API serves objects of a class."""
        return self._apis[shape]


KNOWN = KindTable()


def kind_of(manifest: Mapping[str, Any]) -> type[Any] | None:
    """Return the class of a manifest's kind; None for kinds that scheduling does not use."""
    return next(iter(KNOWN.shapes_of(manifest)), None)
