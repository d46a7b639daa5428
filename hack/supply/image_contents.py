"""What is inside an image, read from its archive: Debian's packages, Python's, and the interpreter."""

import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import Parser
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from images import oci_archive
from localcluster.errors import Problem
from supply.lock import canonical

_DPKG = re.compile(r"var/lib/dpkg/(status|status\.d/[^/]+)")
_COPYRIGHT = re.compile(r"usr/share/doc/([^/]+)/copyright")
_METADATA = re.compile(r".*/site-packages/[^/]+\.dist-info/METADATA")
_RELEASE = "usr/lib/os-release"
_REMOVED = ".wh."
_REMOVED_ALL = ".wh..wh..opq"


@dataclass(frozen=True, order=True)
class Found:
    """One package in an image."""

    name: str
    version: str
    purl: str
    licences: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Contents:
    """What an image holds, and what it says about itself."""

    identity: str  # the hash of its configuration
    labels: Mapping[str, str]
    packages: tuple[Found, ...]


def contents_of(archive: Path) -> Contents:
    """Read an image's archive; Problem if it is none."""
    with TemporaryDirectory(prefix="pilotage-sbom-") as folder:
        image = oci_archive.read(archive, Path(folder))
        blobs = {blob.digest: blob for blob in image.blobs}
        manifest = _image_manifest([json.loads(each.content) for each in image.manifests], archive)
        with blobs[manifest["config"]["digest"]].open() as file:
            configuration = json.load(file)
        files: dict[str, bytes] = {}
        for layer in manifest["layers"]:
            with blobs[layer["digest"]].open() as packed, tarfile.open(fileobj=packed, mode="r|*") as tar:
                _lay_over(files, tar)
    settings = configuration.get("config", {})
    architecture = str(configuration.get("architecture", ""))
    found = {*_python_packages(files), *_debian_packages(files, architecture), *_interpreter(settings.get("Env", ()))}
    return Contents(manifest["config"]["digest"], settings.get("Labels") or {}, tuple(sorted(found)))


def _image_manifest(documents: list[dict[str, Any]], archive: Path) -> dict[str, Any]:
    """Return the first manifest of an image: others may be for other platforms, or tell how it was built."""
    for document in documents:
        if "layers" in document and all("in-toto" not in layer["mediaType"] for layer in document["layers"]):
            return document
    raise Problem(f"{archive} contains no image; build it again with: make images")


def _lay_over(files: dict[str, bytes], tar: tarfile.TarFile) -> None:
    """Do to the files that we look at what a layer does."""
    for member in tar:
        name = member.name.removeprefix("./")
        place = PurePosixPath(name)
        if place.name == _REMOVED_ALL:
            _remove(files, str(place.parent))
        elif place.name.startswith(_REMOVED):
            _remove(files, str(place.with_name(place.name.removeprefix(_REMOVED))))
        elif member.isfile() and (_is_looked_at(name)) and (content := tar.extractfile(member)):
            files[name] = content.read()


def _is_looked_at(name: str) -> bool:
    return name == _RELEASE or any(each.fullmatch(name) for each in (_DPKG, _COPYRIGHT, _METADATA))


def _remove(files: dict[str, bytes], path: str) -> None:
    for name in [name for name in files if name == path or name.startswith(f"{path}/")]:
        del files[name]


def _python_packages(files: Mapping[str, bytes]) -> Iterator[Found]:
    for name, content in files.items():
        if _METADATA.fullmatch(name):
            told = Parser().parsestr(content.decode(errors="replace"), headersonly=True)
            package = canonical(told["Name"])
            yield Found(package, told["Version"], f"pkg:pypi/{package}@{told['Version']}")


def _debian_packages(files: Mapping[str, bytes], architecture: str) -> Iterator[Found]:
    distribution = _distribution(files.get(_RELEASE, b"").decode())
    for name, content in files.items():
        if not _DPKG.fullmatch(name):
            continue
        for paragraph in content.decode(errors="replace").split("\n\n"):
            told = Parser().parsestr(paragraph, headersonly=True)
            if told["Package"] and "installed" in (told["Status"] or "installed").split():
                own = told["Architecture"] or architecture
                version = quote(told["Version"], safe=":")
                purl = f"pkg:deb/debian/{quote(told['Package'])}@{version}?arch={own}&distro={distribution}"
                yield Found(told["Package"], told["Version"], purl, _licences(files, told["Package"]))


def _distribution(release: str) -> str:
    told = dict(line.split("=", 1) for line in release.splitlines() if "=" in line)
    return "-".join(told.get(key, "").strip('"') for key in ("ID", "VERSION_ID"))


def _licences(files: Mapping[str, bytes], package: str) -> tuple[str, ...]:
    text = files.get(f"usr/share/doc/{package}/copyright", b"").decode(errors="replace")
    return tuple(sorted(set(re.findall(r"^License: *(\S.*?)\s*$", text, re.MULTILINE))))


def _interpreter(variables: list[str] | tuple[str, ...]) -> Iterator[Found]:
    """Yield the interpreter of images that bring one of their own; elsewhere it is a package of Debian's."""
    told = dict(variable.split("=", 1) for variable in variables)
    if version := told.get("PYTHON_VERSION"):
        yield Found("cpython", version, f"pkg:generic/cpython@{version}", ("PSF-2.0",))
