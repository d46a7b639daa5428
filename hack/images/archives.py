"""Archives of images, for nodes without a registry."""

from pathlib import Path

from images.components import DEFAULT_TAG, component
from images.engines import Engine, commands_of, engines_with_images
from images.store import Store, opened
from localcluster.errors import Problem


def export(image: str) -> Path:
    """Return the archive of the newest image of that name on this machine, written if it does not exist."""
    with opened() as store:
        engines = engines_with_images(commands_of(store), store)
        holders = [(facts.created, engine) for engine in engines if (facts := engine.facts(image))]
        if not holders:
            raise _unknown(image)
        return export_from(max(holders, key=lambda holder: holder[0])[1], store, image)


def archive_of(name: str, tag: str = DEFAULT_TAG) -> Path:
    """The archive of the scheduler's or the operator's image as last built."""
    return export(component(name).image(tag))


def export_from(engine: Engine, store: Store, image: str) -> Path:
    """The archive of an image, named after its content."""
    facts = engine.facts(image)
    if facts is None:
        raise _unknown(image)
    archive = store.archive(image, facts.image_id)
    if not archive.exists():
        unfinished = store.temporary / archive.name
        engine.save(image, unfinished)
        unfinished.rename(archive)
        store.forget_old_archives(image)
    return archive


def _unknown(image: str) -> Problem:
    return Problem(f"there is no image {image!r} on this machine; build it first (ours: make images)")
