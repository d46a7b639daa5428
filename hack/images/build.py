"""Builds images if their inputs have changed."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from images import stand_in, surroundings
from images.archives import export_from
from images.buildah import Buildah
from images.commands import Commands
from images.components import Component, component
from images.docker import Docker
from images.engines import Engine, commands_of, find_engine
from images.inputs import fingerprint, stage
from images.order import Order, Wishes
from images.store import Store, opened
from localcluster.paths import REPOSITORY
from localcluster.progress import say


@dataclass(frozen=True)
class Built:
    """An image that is up to date, and the archive of it."""

    image: str
    archive: Path


def build(names: Sequence[str], wishes: Wishes, archive_dir: Path | None = None) -> list[Built]:
    """Bring the images of the named components up to date, one after the other."""
    components = [component(name) for name in names]
    with opened() as store:
        commands = commands_of(store)
        workshop = Workshop(find_engine(commands, store, wishes.base), commands, store)
        built = [workshop.bring_up_to_date(each, wishes) for each in components]
        return [_placed(each, archive_dir) for each in built] if archive_dir else built


class Workshop:
    """An engine, its tools and the place for the results."""

    def __init__(self, engine: Engine, commands: Commands, store: Store, repository: Path = REPOSITORY) -> None:
        self._engine = engine
        self._commands = commands
        self._store = store
        self._repository = repository

    def bring_up_to_date(self, component: Component, wishes: Wishes) -> Built:
        """Build the image if its inputs changed, and see that its archive is there."""
        # 1. Determine the inputs, and check that the engine can build.
        self._engine.check(wishes.platforms)
        image = component.image(wishes.tag)
        key = fingerprint(self._repository, component.dockerfile, self._settings(wishes))
        if len(wishes.platforms) > 1:
            return self._for_platforms(component, wishes, image, key)

        # 2. Compare with the existing image.
        known = self._engine.facts(image)
        if known and known.fingerprint == key:
            say(f"{image} is up to date")
        else:
            # 3. If it is outdated, build it on the requested base, or on this engine's default.
            order = self._order(component, wishes, image, key)
            self._engine.build(f"building {image}", order, _steps(order))

        # 4. Write the archive.
        return Built(image, export_from(self._engine, self._store, image))

    def _for_platforms(self, component: Component, wishes: Wishes, image: str, key: str) -> Built:
        """Several platforms exist as an archive only, which the key names."""
        assert isinstance(self._engine, Docker)  # no other engine agreed to several
        archive = self._store.archive(image, key)
        if archive.exists():
            say(f"{image} is up to date")
        else:
            order = self._order(component, wishes, image, key)
            unfinished = self._store.temporary / archive.name
            self._engine.build_for_platforms(f"building {image}", order, _steps(order), unfinished)
            unfinished.rename(archive)
        return Built(image, archive)

    def _settings(self, wishes: Wishes) -> list[str]:
        ours = stand_in.recipe() if isinstance(self._engine, Buildah) else ""
        return [wishes.base or ours, *wishes.platforms]

    def _order(self, component: Component, wishes: Wishes, image: str, key: str) -> Order:
        context = self._store.temporary / component.name
        stage(self._repository, component.dockerfile, context)
        trusted = surroundings.certificates(os.environ)
        arguments = surroundings.arguments(os.environ, trusted) | {"VERSION": component.version(self._repository)}
        if base := self._base(wishes):
            arguments["BASE"] = base
        return Order(image, context, context / component.dockerfile, key, wishes.platforms, arguments, trusted)

    def _base(self, wishes: Wishes) -> str | None:
        """The base to name; None leaves it to the Dockerfile."""
        if wishes.base or not isinstance(self._engine, Buildah):
            return wishes.base
        return stand_in.ensure_stand_in(self._engine, self._commands, self._store)


def _steps(order: Order) -> int:
    """How many steps the engine will count: the instructions of the Dockerfile."""
    lines = order.dockerfile.read_text().replace("\\\n", " ").splitlines()
    return sum(1 for line in lines if line and not line.startswith("#"))


def _placed(built: Built, folder: Path) -> Built:
    """The same archive under a plain name in another folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = built.image.rpartition("/")[2].replace(":", "-")
    unfinished = folder / f".{name}.tar.part"
    shutil.copyfile(built.archive, unfinished)
    return Built(built.image, unfinished.rename(folder / f"{name}.tar"))
