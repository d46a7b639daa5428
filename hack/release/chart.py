"""The chart of a release: the chart of the repository, whose images come from the registry that has them."""

import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from localcluster.errors import Problem
from localcluster.paths import HACK, REPOSITORY

SOURCE = REPOSITORY / "charts" / "pilotage"
# In a checkout images are built here; a released chart pulls them.
REGISTRY = re.compile(r"^(image:\n(?: .*\n)*?  registry: )localhost$", re.MULTILINE)


def with_registry(values: str, registry: str) -> str:
    """Return values.yaml with another default registry, and all else unchanged."""
    changed, times = REGISTRY.subn(lambda found: f"{found[1]}{registry}", values)
    if times != 1:
        raise Problem("values.yaml has no image.registry of localhost to replace")
    return changed


def package(registry: str, destination: Path) -> None:
    """Write the chart's archive to a folder."""
    if not registry:
        raise Problem("name the registry of the images: make chart REGISTRY=registry.example.com/team")
    with TemporaryDirectory() as scratch:
        chart = shutil.copytree(SOURCE, Path(scratch) / SOURCE.name)
        values = chart / "values.yaml"
        values.write_text(with_registry(values.read_text(encoding="utf-8"), registry), encoding="utf-8")
        subprocess.run([HACK / "helm", "package", chart, f"--destination={destination}"], check=True)
