"""A Python base image from Debian packages, for machines that reach no image registry."""

import hashlib
from pathlib import Path

from images.buildah import Buildah
from images.commands import Commands, Progress
from images.order import Order
from images.store import Store
from localcluster.packages import ensure_packages

IMAGE = "localhost/python:3.13-slim"
DOCKERFILE = Path(__file__).parent / "python" / "Dockerfile"
SUITE = "trixie"  # its Python is 3.13
PACKAGES = (
    "ca-certificates",
    "libstdc++6",  # numpy's wheels take it from the system
    "python3",
    "python3-venv",
)
DPKG_OPTIONS = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/man/*",
)
# Images of Python have `python`, Debian has python3 alone.
PYTHON_LINK = 'ln -s /usr/bin/python3 "$1/usr/local/bin/python"'


def recipe() -> str:
    """A hash of everything that decides how the image is made."""
    return hashlib.sha256(repr(bootstrap(Path())).encode() + DOCKERFILE.read_bytes()).hexdigest()[:32]


def bootstrap(archive: Path) -> list[str]:
    """The command that unpacks Debian with Python into an archive."""
    options = [f"--dpkgopt={option}" for option in DPKG_OPTIONS]
    hook = f"--customize-hook={PYTHON_LINK}"
    packages = f"--include={','.join(PACKAGES)}"
    return ["unshare", "--mount", "mmdebstrap", "--variant=essential", packages, *options, hook, SUITE, str(archive)]


def ensure_stand_in(buildah: Buildah, commands: Commands, store: Store) -> str:
    """The name of the image, made now if the storage does not have it."""
    known = buildah.facts(IMAGE)
    if known is None or known.fingerprint != recipe():
        _make(buildah, commands, store)
    return IMAGE


def _make(buildah: Buildah, commands: Commands, store: Store) -> None:
    ensure_packages({"mmdebstrap": "mmdebstrap"}, f"making the image {IMAGE}")
    context = store.temporary / "python"
    context.mkdir()
    # mmdebstrap tells of about fifteen steps.
    commands.run(f"fetching Python as Debian {SUITE} has it", bootstrap(context / "debian.tar"), Progress("^I: ", 15))
    buildah.build(f"making the image {IMAGE}", Order(IMAGE, context, DOCKERFILE, recipe()), steps=4)
