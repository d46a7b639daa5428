"""Files for profiles are read in one directory, wherever links lead."""

import os
from pathlib import Path

import pytest

from pilotage.cluster.credentials.credential_files import LARGEST, Withheld, read_credential


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """A Secret as the kubelet mounts it, and the account's token beside the directory."""
    (tmp_path / "account").mkdir()
    (tmp_path / "account" / "token").write_text("ours")
    secret = tmp_path / "credentials" / "prometheus"
    (secret / "..2026_01_01").mkdir(parents=True)
    (secret / "..2026_01_01" / "token").write_text("theirs")
    (secret / "..data").symlink_to("..2026_01_01")
    (secret / "token").symlink_to("..data/token")
    return tmp_path / "credentials"


def test_a_secret_is_read_through_its_links(mounted: Path) -> None:
    assert read_credential(f"{mounted}/prometheus/token", str(mounted)) == b"theirs"


def test_the_directory_may_be_a_link_itself(mounted: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(mounted)
    assert read_credential(f"{tmp_path}/link/prometheus/token", f"{tmp_path}/link") == b"theirs"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("../account/token", id="two dots"),
        pytest.param("prometheus/../../account/token", id="two dots further in"),
        pytest.param("out", id="a link to the file"),
        pytest.param("folder/token", id="a link to its folder"),
        pytest.param("chain", id="a link to a link"),
    ],
)
def test_nothing_else_is_read(mounted: Path, tmp_path: Path, path: str) -> None:
    (mounted / "out").symlink_to(tmp_path / "account" / "token")
    (mounted / "folder").symlink_to(tmp_path / "account")
    (mounted / "chain").symlink_to("out")
    with pytest.raises(Withheld, match="is outside of"):
        read_credential(f"{mounted}/{path}", str(mounted))
    assert read_credential(f"{mounted}/{path}", None) == b"ours"  # whoever starts the scheduler may


def test_what_never_ends_is_not_read(mounted: Path) -> None:
    os.mkfifo(mounted / "pipe")
    (mounted / "large").write_bytes(b"x" * (LARGEST + 1))
    for path in ("pipe", "large", "prometheus"):
        with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
            read_credential(f"{mounted}/{path}", str(mounted))
    with pytest.raises(FileNotFoundError):
        read_credential(f"{mounted}/nothing", str(mounted))
