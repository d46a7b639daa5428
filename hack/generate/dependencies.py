"""docs/dependencies.md: every locked Python package and its licence."""

from collections.abc import Iterable

from supply.licences import SHIPPED, TOOLS, table
from supply.lock import OURS, Lock, Package, read_lock

_HEAD = """# Dependencies

Generated from `uv.lock` and `hack/supply/licences.yaml` by `make generate`; `make lint` fails if one has no licence
there, or one that is not accepted. Accepted in images and wheels: {shipped}.
For tools, which are never passed on, also {tools}.

`make sbom` writes what the wheels need and what the images hold, Debian's packages with their licences too, in
CycloneDX's JSON to `dist/sbom`.
"""
_SHIPPED = """
## In the wheels and images

"scheduler" is the wheel `pilotage` and its image, "operator" the wheel `pilotage-operator` and its image. Two versions
of one package are for different versions of Python.

| package | version | licence | in |
| --- | --- | --- | --- |
"""
_TOOLS = """
## Tools

What tests, lint and builds run.

| package | version | licence |
| --- | --- | --- |
"""


def text() -> str:
    """Return the whole page."""
    lock = read_lock()
    shipped = _names(lock.needed_by(*OURS)) - set(OURS)
    tools = _names(lock.packages) - shipped - set(OURS)
    head = _HEAD.format(shipped=", ".join(sorted(SHIPPED)), tools=", ".join(sorted(TOOLS - SHIPPED)))
    rows = [f"{_row(lock, name)} {_users(lock, name)} |\n" for name in sorted(shipped)]
    return "".join([head, _SHIPPED, *rows, _TOOLS, *(f"{_row(lock, name)}\n" for name in sorted(tools))])


def _names(packages: Iterable[Package]) -> set[str]:
    return {package.name for package in packages}


def _row(lock: Lock, name: str) -> str:
    versions = ", ".join(package.version for package in lock.named(name))
    return f"| {name} | {versions} | {table().get(name, 'not known')} |"


def _users(lock: Lock, name: str) -> str:
    users = {"scheduler": "pilotage", "operator": "pilotage-operator"}
    return ", ".join(user for user, project in users.items() if name in _names(lock.needed_by(project)))
