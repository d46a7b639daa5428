"""Fails where a module of the framework serves a single plugin: python -m rooms."""

import sys

import grimp

from rooms.lodgers import lodgers


def main() -> int:
    """Print the modules in the wrong package."""
    graph = grimp.build_graph("pilotage")
    packages = {module for module in graph.modules if graph.find_children(module)}
    found = lodgers(graph.modules - packages, graph.find_modules_directly_imported_by)
    for each in found:
        print(f"{each.module}: only {each.plugin} uses it; move it into that plugin's package")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
