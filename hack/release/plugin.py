"""The small kubectl plugin: one file that any Python runs, its archive for krew, and krew's manifest of it."""

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from string import Template

from localcluster.paths import REPOSITORY

SOURCES = REPOSITORY / "scheduler" / "src"
NAME = "kubectl-pilotage"
UV = str(Path(sys.executable).parent / "uv")
# All that it has of ours: nothing here needs more than Python and the packages below. A test runs it without any other.
PARTS = (
    "pilotage/__init__.py",
    "pilotage/cli",
    "pilotage/cluster/__init__.py",
    "pilotage/cluster/kubectl",
    "pilotage/views/__init__.py",
    "pilotage/views/objects",
)
# Without their compiled parts, of which PyYAML has one that it does without.
PACKAGES = {"click": "click", "PyYAML": "yaml"}
OLDEST_PYTHON = (3, 11)
SHEBANG = b"#!/usr/bin/env python3\n"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same input is the same file, byte for byte
START = f"""\
import sys

if sys.version_info < {OLDEST_PYTHON}:
    sys.exit("kubectl pilotage needs Python 3.11 or newer, and python3 on PATH is %d.%d" % sys.version_info[:2])

from pilotage.cli import main

main()
"""
MANIFEST = Template("""\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: pilotage
spec:
  version: v$version
  homepage: $homepage
  shortDescription: Explain why pods are pending, and ask a scheduler
  description: |
    Explains why a pod is pending and what would help, shows which pods wait and for what, whether schedulers
    and their profiles are well, and how full nodes are. Asks the scheduler of Pilotage where one runs; queue,
    history and doctor work on any cluster.
  caveats: |
    Needs Python 3.11 or newer as python3. Answers without a running scheduler (explain, top) need the whole
    program: install the wheel of the release with pipx or uv.
    For completion by kubectl:
      kubectl pilotage completion kubectl > ~/.local/bin/kubectl_complete-pilotage
      chmod +x ~/.local/bin/kubectl_complete-pilotage
  platforms:
  - selector:
      matchExpressions:
      - {key: os, operator: In, values: [linux, darwin]}
    uri: $uri
    sha256: $sha256
    bin: $name
    files:
    - {from: $name, to: .}
    - {from: LICENSE, to: .}
    - {from: LICENSES.txt, to: .}
""")


def build(destination: Path, base: str) -> list[Path]:
    """Write the program, the archive and the manifest; `base` is where the archive will be downloaded from."""
    version = _version()
    destination.mkdir(parents=True, exist_ok=True)
    program = destination / NAME
    program.write_bytes(zipapp(version))
    program.chmod(0o755)
    archive = destination / f"{NAME}_v{version}.tar.gz"
    archive.write_bytes(packed({NAME: program.read_bytes(), "LICENSE": _licence(), "LICENSES.txt": _licences()}))
    manifest = destination / "pilotage.yaml"
    manifest.write_text(
        MANIFEST.substitute(
            version=version,
            homepage=base.partition("/releases/")[0] or "https://example.com/pilotage",
            uri=f"{base.rstrip('/')}/{archive.name}" if base else archive.resolve().as_uri(),
            sha256=hashlib.sha256(archive.read_bytes()).hexdigest(),
            name=NAME,
        ),
        encoding="utf-8",
    )
    return [program, archive, manifest]


def wheel(destination: Path) -> Path:
    """Build the wheel of the whole program, which pipx and uv install."""
    # From where the sources are: uv would take another folder for a project of its own.
    command = [UV, "build", "--quiet", "--package=pilotage", "--wheel", f"--out-dir={destination.resolve()}"]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    return destination / f"pilotage-{_version()}-py3-none-any.whl"


def zipapp(version: str) -> bytes:
    """Return a program that is a zip of its modules."""
    content = io.BytesIO()
    content.write(SHEBANG)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed_in:
        for name, data in sorted({**dict(_modules()), **_marks(version)}.items()):
            packed_in.writestr(zipfile.ZipInfo(name, LONG_AGO), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def packed(files: dict[str, bytes]) -> bytes:
    """Return a tar.gz with these files."""
    content = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=content, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name, data in sorted(files.items()):
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(data), 0o755 if name == NAME else 0o644
            archive.addfile(about, io.BytesIO(data))
    return content.getvalue()


def _modules() -> Iterator[tuple[str, bytes]]:
    for part in PARTS:
        path = SOURCES / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            yield str(file.relative_to(SOURCES)), file.read_bytes()
    for package, folder in PACKAGES.items():
        for name, path in _files(distribution(package)):
            if name.startswith(f"{folder}/") and name.endswith(".py"):
                yield name, path.read_bytes()


def _marks(version: str) -> dict[str, bytes]:
    about = f"Metadata-Version: 2.4\nName: pilotage\nVersion: {version}\n"
    return {"__main__.py": START.encode(), f"pilotage-{version}.dist-info/METADATA": about.encode()}


def _files(package: Distribution) -> Iterator[tuple[str, Path]]:
    for file in package.files or ():
        yield str(file), Path(str(package.locate_file(file)))


def _licence() -> bytes:
    return (REPOSITORY / "LICENSE").read_bytes()


def _licences() -> bytes:
    """Return the licences of the packages that are inside."""
    texts = []
    for package in PACKAGES:
        found = distribution(package)
        named = next(path for file, path in _files(found) if Path(file).name.upper().startswith("LICEN"))
        texts.append(f"{found.metadata['Name']} {found.version}\n\n{named.read_text(encoding='utf-8').strip()}\n")
    return "\n\n".join(texts).encode()


def _version() -> str:
    project = tomllib.loads((REPOSITORY / "scheduler" / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["version"])
