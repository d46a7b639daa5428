"""Building with buildah: no engine, no daemon, and a storage of our own."""

import json
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path

from images.commands import Commands, Progress
from images.order import FINGERPRINT_LABEL, Facts, Order
from images.store import Store
from localcluster.errors import Problem

BEGUN = r"^(\[\d+/\d+\] )?STEP \d+/\d+"
# Layers serve the next build until they are too many; a change of uv.lock leaves half a gigabyte of them.
LAYERS_KEPT = 100
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


class Buildah:
    """buildah with its images in our store."""

    def __init__(self, commands: Commands, store: Store, driver: str) -> None:
        self._commands = commands
        self._storage = store.root / "storage"
        self._driver = driver
        self._prefix = buildah(self._storage, store.root / "run", driver)

    def check(self, platforms: Sequence[str]) -> None:
        """A Problem if it cannot build for these platforms: only this machine's is one."""
        if set(platforms) - {own_platform()}:
            raise Problem(
                f"without a Docker engine an image is built for {own_platform()} only; "
                f"leave out --platform, or start Docker with buildx for {','.join(platforms)}"
            )

    def build(self, title: str, order: Order, steps: int) -> None:
        """Build the image into our storage."""
        self._tidy()
        self._commands.run(title, self.build_command(order), Progress(BEGUN, steps))

    def facts(self, image: str) -> Facts | None:
        """What our storage knows of an image; None if it has none of that name."""
        answer = self._commands.read([*self._prefix, "inspect", "--type=image", image])
        if answer is None:
            return None
        details = json.loads(answer)
        described = details["OCIv1"]
        labels = described["config"].get("Labels") or {}
        return Facts(details["FromImageID"], labels.get(FINGERPRINT_LABEL), described.get("created", ""))

    def save(self, image: str, archive: Path) -> None:
        """Write an archive of an image, under the name a node will know it by."""
        name = image if "/" in image else f"localhost/{image}"
        self._commands.run(
            f"writing the archive of {image}", [*self._prefix, "push", image, f"oci-archive:{archive}:{name}"]
        )

    def build_command(self, order: Order) -> list[str]:
        """The command that builds for this machine."""
        # vfs keeps a whole copy of the file system for each layer.
        layers = f"--layers={'true' if self._driver == 'overlay' else 'false'}"
        options = ["--isolation=chroot", layers, f"--tag={order.image}", *order.flags()]
        return [*self._prefix, "build", *options, str(order.context)]

    def _tidy(self) -> None:
        """Remove what builds that were stopped left, and old layers once they are many."""
        self._commands.read([*self._prefix, "rm", "--all"])
        folder = self._storage / "overlay"
        if folder.is_dir() and len(list(folder.iterdir())) > LAYERS_KEPT:
            self._commands.run("removing old layers", [*self._prefix, "rmi", "--prune", "--force"])


def buildah(storage: Path, run: Path, driver: str) -> list[str]:
    """The beginning of a buildah command that keeps to these folders."""
    # In a mount namespace of its own, so that not even a killed build leaves a mount.
    return ["unshare", "--mount", "buildah", f"--root={storage}", f"--runroot={run}", f"--storage-driver={driver}"]


def find_buildah(commands: Commands, store: Store) -> Buildah:
    """buildah on the storage that exists, or on the best kind this disk can hold."""
    return Buildah(commands, store, _driver_in_use(store) or _best_driver(commands, store))


def own_platform() -> str:
    """This machine, as images name it."""
    machine = platform.machine()
    return f"linux/{MACHINES.get(machine, machine)}"


def _driver_in_use(store: Store) -> str | None:
    return next(
        (driver for driver in ("overlay", "vfs") if (store.root / "storage" / f"{driver}-images").is_dir()), None
    )


def _best_driver(commands: Commands, store: Store) -> str:
    trial = store.temporary / "trial"
    answer = commands.read([*buildah(trial / "storage", trial / "run", "overlay"), "info"])
    shutil.rmtree(trial, ignore_errors=True)
    return "vfs" if answer is None else "overlay"
