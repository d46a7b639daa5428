"""Archives of images: what a node without a registry is given."""

from pathlib import Path

from cluster.errors import Problem
from images.components import DEFAULT_TAG, component
from images.engines import Engine, commands_of, find_engine
from images.store import Store, opened


def export(image: str) -> Path:
    """The archive of an image that the engine of this machine holds, written now unless it is there."""
    with opened() as store:
        return export_from(find_engine(commands_of(store), store), store, image)


def archive_of(name: str, tag: str = DEFAULT_TAG) -> Path:
    """The archive of the scheduler's or the operator's image as last built."""
    return export(component(name).image(tag))


def export_from(engine: Engine, store: Store, image: str) -> Path:
    """The archive of an image, named after its content."""
    facts = engine.facts(image)
    if facts is None:
        raise Problem(f"there is no image {image!r} on this machine; build it first (ours: make images)")
    archive = store.archive(image, facts.image_id)
    if not archive.exists():
        unfinished = store.temporary / archive.name
        engine.save(image, unfinished)
        unfinished.rename(archive)
        store.forget_old_archives(image)
    return archive
