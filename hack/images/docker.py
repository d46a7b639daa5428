"""Building with a Docker engine."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from images.commands import Commands, Progress
from images.order import FINGERPRINT_LABEL, Facts, Order
from localcluster.errors import Problem
from localcluster.progress import say

ANSWER_WITHIN_SECONDS = 5
# What BuildKit prints when it begins a step of a Dockerfile.
BEGUN = r"^#\d+ \[.*\d+/\d+\] "


class Docker:
    """A Docker engine that answers, with or without buildx."""

    def __init__(self, commands: Commands, buildx: bool, network: bool = True) -> None:
        self._commands = commands
        self._buildx = buildx
        # An engine that gives containers no network lends them the machine's: a build fetches packages.
        self._network = [] if network else ["--network=host"]

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
        labels = details["Config"].get("Labels") or {}
        return Facts(details["Id"], labels.get(FINGERPRINT_LABEL), details.get("Created", ""))

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
        return [*self._network, f"--tag={order.image}", *order.flags(), str(order.context)]


def find_docker(commands: Commands) -> Docker | None:
    """Docker, if an engine answers and can read our Dockerfiles; says so if it answers and cannot."""
    if not engine_answers(commands):
        return None
    buildx = commands.read(["docker", "buildx", "version"], ANSWER_WITHIN_SECONDS) is not None
    # Clients before version 23 speak to BuildKit themselves; newer ones refuse even this without buildx.
    if not buildx and commands.read(["docker", "build", "--help"], ANSWER_WITHIN_SECONDS) is None:
        say("Docker has no buildx here, without which it cannot read our Dockerfiles: building without Docker")
        return None
    network = commands.read(["docker", "network", "inspect", "bridge"], ANSWER_WITHIN_SECONDS) is not None
    return Docker(commands, buildx, network)


def engine_answers(commands: Commands) -> bool:
    """Whether an engine, not only its client, is there and may be used."""
    wanted = os.environ.get("PILOTAGE_ENGINE")
    return wanted != "own" and commands.read(["docker", "info"], ANSWER_WITHIN_SECONDS) is not None
