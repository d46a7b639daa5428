"""Plugins for tests of the configuration: the real ones, and an odd one that can be wrong at every stage."""

import pytest

from pilotage.config.catalogue import Catalogue
from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, invalid
from pilotage.config.types import Int32
from pilotage.framework.api.plugin import Filter
from pilotage.plugins.catalogue import PluginCatalogue, built_in


class Odd(Filter):
    """Objects to arguments when they are checked (`wrong`) and when the plugin is made (`late`)."""

    number: Int32 = 0
    wrong: str = ""
    late: bool = False

    def faults(self, at: At) -> list[Fault]:
        """Return one fault for each."""
        found = [invalid((*at, "wrong"), self.wrong, "is wrong")] if self.wrong else []
        return found + ([Fault(Stage.PROFILES, "late: Invalid value", (*at, "late"))] if self.late else [])


class Needy(Filter):
    """Cannot do without an argument."""

    label: str


@pytest.fixture(scope="session")
def in_tree() -> Catalogue:
    """All plugins that there are."""
    return built_in()


@pytest.fixture(scope="session")
def with_odd() -> PluginCatalogue:
    """All plugins, and the odd ones."""
    catalogue = built_in()
    for plugin in (Odd, Needy):
        catalogue.add(plugin, "a test")
    return catalogue
