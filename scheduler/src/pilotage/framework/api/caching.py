"""What the answers of a plugin depend on: what did not change is not asked again."""

from dataclasses import dataclass
from enum import Enum


class Scope(Enum):
    """What an answer about a node depends on, besides the pod; what did not change is not asked again."""

    STATIC = "the node object"
    NODE = "the node object and the pods on the node"
    CLUSTER = "anything"


class Per(Enum):
    """What of the pod an answer depends on. Where its name or its status plays a part, the scope must be CLUSTER."""

    SHAPE = "its needs"
    POD = "its needs, namespace, labels, annotations, priority and owners"


STATIC, NODE, CLUSTER = Scope.STATIC, Scope.NODE, Scope.CLUSTER
SHAPE, POD = Per.SHAPE, Per.POD


@dataclass(frozen=True, slots=True)
class Caching:
    """How long an answer is remembered, and for which pods."""

    scope: Scope = CLUSTER
    per: Per = POD
