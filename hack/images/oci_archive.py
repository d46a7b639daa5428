"""Reads the archive of an image, as buildah, buildx and `docker save` write it, into what a registry is given."""

import gzip
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from localcluster.errors import Problem

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIGURATION = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEXES = (OCI_INDEX, "application/vnd.docker.distribution.manifest.list.v2+json")


@dataclass(frozen=True)
class Blob:
    """One file that a registry keeps under its digest."""

    digest: str
    size: int
    open: Callable[[], BinaryIO]


@dataclass(frozen=True)
class Manifest:
    """A document that names blobs or other manifests."""

    digest: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class Image:
    """Everything that a registry must have, in an order in which nothing names what is not there yet."""

    blobs: list[Blob]
    manifests: list[Manifest]  # the last one gets the tag


def read(archive: Path, scratch: Path) -> Image:
    """The image of an archive; files that have to be made for it go to the scratch folder."""
    with tarfile.open(archive) as tar:
        names = set(tar.getnames())
        if "index.json" in names:
            return _Layout(archive, tar).image()
        if "manifest.json" in names:
            return _from_docker(tar, scratch)
    raise Problem(f"{archive} is not an image archive; build it again with: make images")


class _Layout:
    """An OCI image layout inside an archive."""

    def __init__(self, archive: Path, tar: tarfile.TarFile) -> None:
        self._archive, self._tar = archive, tar
        self._blobs: dict[str, Blob] = {}
        self._manifests: dict[str, Manifest] = {}

    def image(self) -> Image:
        """Follow the index to all that it names."""
        [entry] = _document(self._content("index.json"))["manifests"]
        self._take(entry)
        return Image(list(self._blobs.values()), list(self._manifests.values()))

    def _take(self, descriptor: Mapping[str, Any]) -> None:
        content = self._content(_path(descriptor["digest"]))
        document = _document(content)
        media_type = descriptor["mediaType"]
        if media_type in INDEXES:
            for each in document["manifests"]:
                self._take(each)
        else:
            for each in (document["config"], *document["layers"]):
                self._blobs[each["digest"]] = self._blob(each)
        self._manifests[descriptor["digest"]] = Manifest(descriptor["digest"], media_type, content)

    def _blob(self, descriptor: Mapping[str, Any]) -> Blob:
        member = self._tar.getmember(_path(descriptor["digest"]))
        # Plain archives are read where they lie: no copy of hundreds of megabytes.
        archive, offset, size = self._archive, member.offset_data, member.size
        return Blob(descriptor["digest"], size, lambda: io.BufferedReader(_Part(archive, offset, size)))

    def _content(self, name: str) -> bytes:
        return _read_member(self._tar, name)


class _Part(io.RawIOBase):
    """A piece of a file, read as a file of its own."""

    def __init__(self, path: Path, offset: int, size: int) -> None:
        self._file = path.open("rb")
        self._file.seek(offset)
        self._left = size

    def readable(self) -> bool:
        """Whether it can be read: that is all it is for."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next bytes, at most to the end of the piece."""
        chunk = self._file.read(min(len(buffer), self._left))
        buffer[: len(chunk)] = chunk
        self._left -= len(chunk)
        return len(chunk)

    def close(self) -> None:
        """Release the file."""
        self._file.close()
        super().close()


def _from_docker(tar: tarfile.TarFile, scratch: Path) -> Image:
    """The format of Docker engines before version 25: no manifest, and layers that are not compressed."""
    [entry] = _document(_read_member(tar, "manifest.json"))
    configuration = _read_member(tar, entry["Config"])
    config = _kept(configuration, scratch)
    layers = [_compressed(tar, name, scratch) for name in entry["Layers"]]
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": OCI_CONFIGURATION, "digest": config.digest, "size": config.size},
        "layers": [{"mediaType": OCI_LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
    }
    content = json.dumps(document).encode()
    return Image([config, *layers], [Manifest(_digest(content), OCI_MANIFEST, content)])


def _kept(content: bytes, scratch: Path) -> Blob:
    file = scratch / _digest(content).replace(":", "-")
    file.write_bytes(content)
    return Blob(_digest(content), len(content), lambda: file.open("rb"))


def _compressed(tar: tarfile.TarFile, name: str, scratch: Path) -> Blob:
    file = scratch / f"{name.replace('/', '-')}.gz"
    source = tar.extractfile(name)
    assert source is not None
    # Without a time stamp the same layer has the same digest, and is pushed once.
    with file.open("wb") as target, gzip.GzipFile("", "wb", 6, target, mtime=0) as packed:
        shutil.copyfileobj(source, packed)
    with file.open("rb") as packed_file:
        digest = f"sha256:{hashlib.file_digest(packed_file, 'sha256').hexdigest()}"
    return Blob(digest, file.stat().st_size, lambda: file.open("rb"))


def _read_member(tar: tarfile.TarFile, name: str) -> bytes:
    try:
        file = tar.extractfile(name)
    except KeyError as error:
        raise Problem(f"{tar.name!s} lacks {name}; build the image again with: make images") from error
    assert file is not None
    return file.read()


def _document(content: bytes) -> Any:
    return json.loads(content)


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"
