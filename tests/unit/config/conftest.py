"""The plugins of kube-scheduler as a table, for tests of the configuration alone."""

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pilotage.config.catalogue import Arguments, Catalogue, ExtensionPoint, ReadArguments
from pilotage.config.documents import At, documents
from pilotage.config.faults import Fault, Stage, invalid

TABLE = Path(__file__).with_name("in_tree_plugins.yaml")


class InTree:
    """Plugins that read any argument; `wrong`, `strange`, `broken` and `late` each make one kind of fault."""

    def __init__(self) -> None:
        self.plugins: dict[str, Any] = next(documents(TABLE.read_bytes(), TABLE.name)).value

    def names(self) -> Collection[str]:
        return self.plugins.keys()

    def points(self, plugin: str) -> Collection[ExtensionPoint]:
        return {ExtensionPoint(point) for point in self.plugins[plugin]["points"]}

    def arguments(self, plugin: str) -> ReadArguments | None:
        return None if "args" not in self.plugins.get(plugin, {}) else partial(self.read, plugin)

    def read(self, plugin: str, given: Mapping[str, Any] | None, at: At) -> Arguments:
        if given is None:
            return Arguments({}, (Fault(Stage.PROFILES, f"got args of type <nil>, want *{plugin}Args", at),))
        faults = {
            "wrong": invalid((*at, "wrong"), given.get("wrong"), "is wrong"),
            "strange": Fault(Stage.STRICTNESS, 'unknown field "strange"', (*at, "strange")),
            "broken": Fault(Stage.DECODING, "broken: must be whole", (*at, "broken")),
            "late": Fault(Stage.PROFILES, "late: Invalid value", (*at, "late")),
        }
        found = tuple(fault for name, fault in faults.items() if name in given)
        return Arguments({**self.plugins[plugin]["args"], **given}, found)


@pytest.fixture(scope="session")
def in_tree() -> Catalogue:
    """Every plugin that is enabled by default."""
    return InTree()
