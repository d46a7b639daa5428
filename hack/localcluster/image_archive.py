"""Writes an image of one static program as an archive, with no builder at all."""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def write(archive: Path, image: str, program: Path) -> None:
    """An archive in Docker's format whose image runs the program as nobody."""
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    configuration = json.dumps(
        {
            "architecture": MACHINES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {"Entrypoint": [f"/{program.name}"], "User": "65535:65535"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    manifest = [{"Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"]}]
    files = {"config.json": configuration, "layer.tar": layer, "manifest.json": json.dumps(manifest).encode()}
    unfinished = archive.with_suffix(".part")
    unfinished.write_bytes(_tar(files, mode=0o644))
    unfinished.replace(archive)


def _tar(files: dict[str, bytes], mode: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()
