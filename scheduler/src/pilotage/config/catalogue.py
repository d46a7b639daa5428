"""The protocol through which the configuration uses plugins, which are in a higher layer."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from pilotage.config.documents import At
from pilotage.config.faults import Fault


class ExtensionPoint(StrEnum):
    """An extension point; the value is its key under `plugins`, the order that of kube-scheduler's checks."""

    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    RESERVE = "reserve"
    PRE_SCORE = "preScore"
    SCORE = "score"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PERMIT = "permit"
    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"
    POD_GROUP_POST_FILTER = "podGroupPostFilter"

    @property
    def interface(self) -> str:
        """The name that messages use: PreFilterPlugin."""
        return f"{self.value[0].upper()}{self.value[1:]}Plugin"


@dataclass(frozen=True)
class Arguments:
    """The arguments of a plugin with defaults, and the errors in them."""

    value: Mapping[str, Any]
    faults: tuple[Fault, ...] = ()


# The stage of a fault decides the form of its text: bare for DECODING and STRICTNESS
# (`unknown field "x"`), with the path for VALIDATION, the constructor's message for PROFILES.
# None instead of arguments means that kube-scheduler constructs the plugin without arguments, not even defaults.
ReadArguments: TypeAlias = Callable[[Mapping[str, Any] | None, At], Arguments]


class Catalogue(Protocol):
    """All known plugins."""

    def of(self, scheduler_name: str) -> "Catalogue":
        """The plugins available to the profile of this name, which may have its own."""

    def names(self) -> Collection[str]:
        """The name of every plugin."""

    def points(self, plugin: str) -> Collection[ExtensionPoint]:
        """The extension points that a plugin of this catalogue implements."""

    def arguments(self, plugin: str) -> ReadArguments | None:
        """The reader of the plugin's arguments; None for an unknown plugin, or one without arguments."""
