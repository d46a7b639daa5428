"""Building with a Docker engine."""

import json
from collections.abc import Sequence
from pathlib import Path

from cluster.errors import Problem
from images.commands import Commands, Progress
from images.order import FINGERPRINT_LABEL, Facts, Order

ANSWER_WITHIN_SECONDS = 5
# What BuildKit prints when it begins a step of a Dockerfile.
BEGUN = r"^#\d+ \[.*\d+/\d+\] "


class Docker:
    """A Docker engine that answers, with or without buildx."""

    def __init__(self, commands: Commands, buildx: bool) -> None:
        self._commands = commands
        self._buildx = buildx

    def check(self, platforms: Sequence[str]) -> None:
        """A Problem if it cannot build for these platforms: several at once need buildx."""
        if len(platforms) > 1 and not self._buildx:
            raise Problem(
                f"one image for {' and '.join(platforms)} needs docker buildx; "
                "install the buildx plugin, or name one --platform"
            )

    def build(self, title: str, order: Order, steps: int) -> None:
        """Build the image into the engine."""
        self._commands.run(title, self.build_command(order), Progress(BEGUN, steps))

    def build_for_platforms(self, title: str, order: Order, steps: int, archive: Path) -> None:
        """Build one image for several platforms into an archive; an engine holds only its own platform."""
        self._commands.run(title, self.platforms_command(order, archive), Progress(BEGUN, steps))

    def facts(self, image: str) -> Facts | None:
        """What the engine knows of an image; None if it has none of that name."""
        answer = self._commands.read(["docker", "image", "inspect", image])
        if answer is None:
            return None
        details = json.loads(answer)[0]
        return Facts(details["Id"], (details["Config"].get("Labels") or {}).get(FINGERPRINT_LABEL))

    def save(self, image: str, archive: Path) -> None:
        """Write an archive of an image."""
        self._commands.run(f"writing the archive of {image}", ["docker", "save", f"--output={archive}", image])

    def build_command(self, order: Order) -> list[str]:
        """The command that builds for one platform."""
        platform = [f"--platform={order.platforms[0]}"] if order.platforms else []
        command = ["docker", "buildx", "build", "--load"] if self._buildx else ["docker", "build"]
        return [*command, "--progress=plain", *platform, *self._rest(order)]

    def platforms_command(self, order: Order, archive: Path) -> list[str]:
        """The command that builds for several platforms at once."""
        platforms = f"--platform={','.join(order.platforms)}"
        output = f"--output=type=oci,dest={archive},name={order.image}"
        return ["docker", "buildx", "build", "--progress=plain", platforms, output, *self._rest(order)]

    def _rest(self, order: Order) -> Sequence[str]:
        return [f"--tag={order.image}", *order.flags(), str(order.context)]


def find_docker(commands: Commands) -> Docker | None:
    """Docker, if an engine answers."""
    if commands.read(["docker", "info"], ANSWER_WITHIN_SECONDS) is None:
        return None
    return Docker(commands, buildx=commands.read(["docker", "buildx", "version"], ANSWER_WITHIN_SECONDS) is not None)
