"""The images that this repository makes."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import Problem

DEFAULT_TAG = "dev"


@dataclass(frozen=True)
class Component:
    """One image: its Dockerfile and the project whose version it carries."""

    name: str
    dockerfile: str
    project: str

    def image(self, tag: str) -> str:
        """The image's full name; localhost keeps a kubelet from asking a registry."""
        return f"localhost/pilotage-{self.name}:{tag}"

    def version(self, repository: Path) -> str:
        """The version of the project, from its own file."""
        return str(tomllib.loads((repository / self.project / "pyproject.toml").read_text())["project"]["version"])


COMPONENTS = {
    component.name: component
    for component in (
        Component("scheduler", "Dockerfile.scheduler", "scheduler"),
        Component("operator", "Dockerfile.operator", "operator"),
    )
}


def component(name: str) -> Component:
    """The component of that name."""
    if name not in COMPONENTS:
        raise Problem(f"there is no image of {name!r}; choose from {', '.join(COMPONENTS)}")
    return COMPONENTS[name]
