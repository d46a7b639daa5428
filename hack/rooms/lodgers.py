"""Modules of the framework that serve a single plugin."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Imports = Callable[[str], Iterable[str]]  # the modules that a module imports

FRAMEWORK = "pilotage.framework."
PLUGINS = "pilotage.plugins."


@dataclass(frozen=True, order=True)
class Lodger:
    """A module that belongs into the package of the only plugin that reaches it."""

    module: str
    plugin: str


def lodgers(modules: Iterable[str], imports: Imports) -> list[Lodger]:
    """Return the modules of the framework that only one plugin reaches."""
    names = sorted(modules)
    users: dict[str, set[str]] = {name: set() for name in names if name.startswith(FRAMEWORK)}
    for name in names:
        if not name.startswith(FRAMEWORK):
            for reached in _reached(name, imports):
                users[reached].add(_user(name))
    return [Lodger(name, *by) for name, by in users.items() if len(by) == 1 and min(by).startswith(PLUGINS)]


def _user(module: str) -> str:
    """Return the plugin that a module is, or is a part of; all else counts as itself."""
    if not module.startswith(PLUGINS):
        return module
    return ".".join(module.split(".")[:4])  # pilotage.plugins.<subject>.<plugin>


def _reached(start: str, imports: Imports) -> set[str]:
    """Return the modules of the framework that a module reaches through the framework alone."""
    found: set[str] = set()
    todo = [start]
    while todo:
        for name in imports(todo.pop()):
            if name.startswith(FRAMEWORK) and name not in found:
                found.add(name)
                todo.append(name)
    return found
