"""Pushes the images to a registry, from the archives that every builder writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from images import oci_archive
from images.build import Built, build
from images.components import COMPONENTS
from images.credentials import find_login
from images.order import Wishes
from images.registry import Address, Registry, check_tag
from localcluster.paths import REPOSITORY
from localcluster.progress import Step


@dataclass(frozen=True)
class Pushed:
    """An image that a registry has, by name and by content."""

    image: str
    digest: str


def version() -> str:
    """The chart's default tag: the version of Pilotage."""
    return COMPONENTS["scheduler"].version(REPOSITORY)


def push(names: Sequence[str], wishes: Wishes, address: Address, tag: str) -> list[Pushed]:
    """Bring the images up to date and push them; what cannot work is said before anything is built."""
    check_tag(tag)
    login = find_login(address.host)
    repositories = [Registry(address, f"pilotage-{name}", login) for name in names]
    repositories[0].check()
    everything = zip(names, repositories, build(names, wishes), strict=True)
    return [_push_one(place, built, f"{address.name}/pilotage-{name}", tag) for name, place, built in everything]


def _push_one(registry: Registry, built: Built, name: str, tag: str) -> Pushed:
    with TemporaryDirectory(prefix="push-", dir=built.archive.parent) as scratch, Step(f"pushing {name}:{tag}") as step:
        image = oci_archive.read(built.archive, Path(scratch))
        total = sum(blob.size for blob in image.blobs) >> 20
        done = 0

        def told(size: int) -> None:
            nonlocal done
            done += size
            step.update(done >> 20, total, "MiB")

        return Pushed(f"{name}:{tag}", registry.push(image, tag, told))


def install_command(address: Address, tag: str) -> str:
    """The command that installs what was pushed."""
    options = f"--set image.registry={address.name} --set image.tag={tag}"
    return f"helm install pilotage charts/pilotage --namespace pilotage --create-namespace {options} --wait"
