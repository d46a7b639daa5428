"""One program of a cluster, as the keeper starts it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

# control: what the API needs; cluster: what needs the API; node: what needs images on the node.
Stage = Literal["control", "cluster", "node"]
STAGES: tuple[Stage, ...] = ("control", "cluster", "node")


@dataclass(frozen=True)
class Component:
    """A command, when to start it, and whether it keeps running (a service) or ends (a task)."""

    name: str
    command: list[str]
    stage: Stage
    is_task: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def flags(**values: str | int | Path) -> list[str]:
    """Command line flags from keyword arguments: `data_dir=x` is `--data-dir=x`."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


def save(components: Sequence[Component], folder: Path) -> None:
    """Write the list that the keeper works from."""
    (folder / "components.json").write_text(json.dumps([asdict(component) for component in components], indent=1))


def load(folder: Path) -> list[Component]:
    """Read the list that the keeper works from."""
    return [Component(**entry) for entry in json.loads((folder / "components.json").read_text())]
