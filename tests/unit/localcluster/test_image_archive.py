"""An archive of one program is an image that a container runtime accepts."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from localcluster import image_archive


def test_the_archive_holds_the_program_and_names_it_entrypoint(tmp_path: Path) -> None:
    program = tmp_path / "pause"
    program.write_bytes(b"machine code")
    image_archive.write(tmp_path / "pause.tar", "localhost/pause:1", program)
    with tarfile.open(tmp_path / "pause.tar") as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    manifest, configuration = json.loads(files["manifest.json"])[0], json.loads(files["config.json"])
    assert manifest == {"Config": "config.json", "RepoTags": ["localhost/pause:1"], "Layers": ["layer.tar"]}
    assert configuration["config"] == {"Entrypoint": ["/pause"], "User": "65535:65535"}
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(files['layer.tar']).hexdigest()}"]
    with tarfile.open(fileobj=io.BytesIO(files["layer.tar"])) as layer:
        assert layer.getmember("pause").mode == 0o755
    assert not (tmp_path / "pause.part").exists()
