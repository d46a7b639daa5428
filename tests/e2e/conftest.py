"""Order of the tests on real nodes: one full cluster fits on a machine, and pytest-kind keeps its own to the end."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that make a full cluster of their own come before those that share pytest-kind's."""
    items.sort(key=lambda item: "kind_cluster" in getattr(item, "fixturenames", ()))
