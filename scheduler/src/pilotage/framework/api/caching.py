"""Declares what a plugin's results depend on; they are cached until that changes."""

from dataclasses import dataclass
from enum import Enum


class Scope(Enum):
    """What a result for a node depends on, besides the pod; it is cached until that changes."""

    STATIC = "the node object"
    NODE = "the node object and the pods on the node"
    CLUSTER = "anything"


class Per(Enum):
    """Which part of the pod a result depends on. If its name or its status matters, the scope must be CLUSTER."""

    SHAPE = "its needs"
    POD = "its needs, namespace, labels, annotations, priority and owners"


STATIC, NODE, CLUSTER = Scope.STATIC, Scope.NODE, Scope.CLUSTER
SHAPE, POD = Per.SHAPE, Per.POD


@dataclass(frozen=True, slots=True)
class Caching:
    """How long a result is cached, and for which pods."""

    scope: Scope = CLUSTER
    per: Per = POD
