"""Images reach a registry whole, and whoever cannot push is told what to do."""

import base64
import gzip
import hashlib
import io
import json
import shutil
import socket
import ssl
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from images import cli, oci_archive
from images import push as push_module
from images.build import Built
from images.credentials import Login, find_login
from images.oci_archive import OCI_INDEX, OCI_LAYER, OCI_MANIFEST
from images.order import Wishes
from images.push import push
from images.registry import Address, Registry, check_tag, parse_address
from images.small_registry import PASSWORD, USER, Guard, SmallRegistry, serving
from localcluster.errors import Problem

CONFIG = b'{"architecture":"amd64","os":"linux"}'
LAYER = b"a layer " * 1000


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def tar_of(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest(content), "size": len(content)}


def manifest(config: bytes = CONFIG) -> bytes:
    layers = [descriptor(OCI_LAYER, LAYER)]
    return json.dumps({"schemaVersion": 2, "config": descriptor("c", config), "layers": layers}).encode()


def layout(top: bytes, media_type: str, *others: bytes) -> bytes:
    index = json.dumps({"schemaVersion": 2, "manifests": [descriptor(media_type, top)]}).encode()
    blobs = {f"blobs/{digest(each).replace(':', '/')}": each for each in (top, *others)}
    return tar_of({"index.json": index, "oci-layout": b"{}", **blobs})


def one_platform() -> bytes:
    return layout(manifest(), OCI_MANIFEST, CONFIG, LAYER)


def two_platforms() -> bytes:
    other = b'{"architecture":"arm64","os":"linux"}'
    children = [manifest(), manifest(other)]
    index = {"schemaVersion": 2, "manifests": [descriptor(OCI_MANIFEST, child) for child in children]}
    return layout(json.dumps(index).encode(), OCI_INDEX, CONFIG, other, LAYER, *children)


def old_docker() -> bytes:
    entry = [{"Config": "abc.json", "RepoTags": ["x:dev"], "Layers": ["1/layer.tar"]}]
    return tar_of({"abc.json": CONFIG, "1/layer.tar": LAYER, "manifest.json": json.dumps(entry).encode()})


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive that a build, which does nothing, has written."""
    file = tmp_path / "image.tar"
    file.write_bytes(one_platform())
    monkeypatch.setattr(push_module, "build", lambda names, wishes: [Built(name, file) for name in names])
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    return file


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with serving(SmallRegistry()) as running:
        yield running


def push_to(registry: SmallRegistry, path: str = "/team", tag: str = "1.0") -> str:
    [pushed] = push(["scheduler"], Wishes("dev"), parse_address(registry.name + path), tag)
    assert pushed.image == f"{registry.name}{path}/pilotage-scheduler:{tag}"
    return pushed.digest


def test_an_image_arrives_under_its_name_and_digest(archive: Path, registry: SmallRegistry) -> None:
    assert push_to(registry) == digest(manifest())
    assert registry.manifests["team/pilotage-scheduler/1.0"] == (OCI_MANIFEST, manifest())
    assert registry.blobs == {digest(CONFIG): CONFIG, digest(LAYER): LAYER}


def test_what_the_registry_has_is_not_sent_again(archive: Path, registry: SmallRegistry) -> None:
    push_to(registry)
    push_to(registry, tag="1.1")
    assert registry.uploads == 2
    assert "team/pilotage-scheduler/1.1" in registry.manifests


def test_an_image_for_several_platforms_arrives_whole(archive: Path, registry: SmallRegistry) -> None:
    archive.write_bytes(two_platforms())
    push_to(registry)
    kind, content = registry.manifests["team/pilotage-scheduler/1.0"]
    assert kind == OCI_INDEX
    assert registry.lacks(content, "team/pilotage-scheduler") == []
    assert len(registry.blobs) == 3


def test_an_archive_of_an_old_docker_engine_gets_a_manifest_and_packed_layers(
    archive: Path, registry: SmallRegistry
) -> None:
    archive.write_bytes(old_docker())
    first = push_to(registry)
    _, content = registry.manifests["team/pilotage-scheduler/1.0"]
    [layer] = json.loads(content)["layers"]
    assert layer["mediaType"] == OCI_LAYER
    assert gzip.decompress(registry.blobs[layer["digest"]]) == LAYER
    assert push_to(registry) == first, "the same layer has the same digest"
    assert [path.name for path in archive.parent.iterdir() if path.name.startswith("push-")] == []


@pytest.mark.parametrize("guard", ["basic", "token"])
def test_a_registry_that_asks_who_we_are_is_told_what_docker_login_left(
    archive: Path, tmp_path: Path, guard: Guard
) -> None:
    with serving(SmallRegistry(guard)) as registry:
        with pytest.raises(Problem, match=r"asks who you are; run: docker login localhost:\d+"):
            push_to(registry)
        write_login(tmp_path, registry.name, "wrong")
        with pytest.raises(Problem, match=r"knows no user 'somebody'|the user 'somebody' may not push"):
            push_to(registry)
        write_login(tmp_path, registry.name, PASSWORD)
        push_to(registry)
        assert "team/pilotage-scheduler/1.0" in registry.manifests


def write_login(folder: Path, host: str, password: str) -> None:
    (folder / "docker").mkdir(exist_ok=True)
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    (folder / "docker" / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))


def test_a_place_that_is_somebody_elses_is_named(archive: Path) -> None:
    denied = pytest.raises(Problem, match=r"refuses team/pilotage-scheduler: .* may not push there \(status 403\)")
    with serving(SmallRegistry(closed=("pilotage-scheduler",))) as registry, denied:
        push_to(registry)


def test_nobody_there_is_said_before_anything_is_built(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setattr(push_module, "build", lambda *_: pytest.fail("it was built"))
    with pytest.raises(Problem, match=r"cannot be used .*refused.*; check that it runs"):
        push(["scheduler"], Wishes("dev"), parse_address(f"localhost:{port}"), "1.0")


def test_plain_http_where_https_was_expected_is_explained(archive: Path, registry: SmallRegistry) -> None:
    with pytest.raises(Problem, match=f"say so: REGISTRY=http://localhost:{registry.port}"):
        push(["scheduler"], Wishes("dev"), parse_address(f"https://{registry.name}"), "1.0")


def test_a_certificate_that_nobody_trusts_is_explained() -> None:

    problem = Registry(parse_address("registry.example.com"), "x", None)._unreachable(ssl.SSLCertVerificationError())
    assert "set SSL_CERT_FILE" in str(problem)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("localhost:5000", Address("http", "localhost:5000", ""), id="this machine speaks plain HTTP"),
        pytest.param("127.0.0.2:80/a", Address("http", "127.0.0.2:80", "/a"), id="so does each loopback address"),
        pytest.param("[::1]:5000", Address("http", "[::1]:5000", ""), id="and that of IPv6"),
        pytest.param("ghcr.io/me", Address("https", "ghcr.io", "/me"), id="all others HTTPS"),
        pytest.param(
            "http://r.lan:5000/a/b/", Address("http", "r.lan:5000", "/a/b"), id="unless they are asked not to"
        ),
        pytest.param("https://localhost:5000", Address("https", "localhost:5000", ""), id="or asked to"),
    ],
)
def test_how_a_registry_is_named(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "Team/x y", "ftp://r", "r/UPPER", "r//x", "r:port", "r/a:tag", "://r"])
def test_what_is_no_registry(text: str) -> None:
    with pytest.raises(Problem, match="is not the address of a registry; write a host with a path"):
        parse_address(text)


@pytest.mark.parametrize("tag", ["", "a b", "-x", ".x", "x" * 129, "a/b", "ü"])
def test_what_is_no_tag(tag: str) -> None:
    with pytest.raises(Problem, match="is not a valid tag"):
        check_tag(tag)


def test_docker_hub_is_spoken_to_where_it_listens() -> None:
    assert parse_address("docker.io/me").url == "https://registry-1.docker.io"
    assert parse_address("docker.io/me").name == "docker.io/me"


@pytest.mark.parametrize(
    ("content", "login"),
    [
        pytest.param({}, None, id="an empty file"),
        pytest.param({"auths": {"other": {"auth": "eDp5"}}}, None, id="a login elsewhere"),
        pytest.param({"auths": {"r": {"auth": "eDp5Ono="}}}, Login("x", "y:z"), id="a colon in the password"),
        pytest.param({"auths": {"https://r": {"auth": "eDp5"}}}, Login("x", "y"), id="an address in place of a host"),
        pytest.param({"auths": {"r": {}}, "credsStore": "fake"}, Login("r", "kept"), id="a store of passwords"),
        pytest.param({"credHelpers": {"r": "fake"}}, Login("r", "kept"), id="a helper for that registry"),
        pytest.param({"credHelpers": {"s": "fake"}}, None, id="a helper for another one"),
        pytest.param({"credHelpers": {"r": "none-for-you"}}, None, id="a helper that knows nothing"),
    ],
)
def test_what_docker_login_left(
    content: Any, login: Login | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, script in {
        "fake": 'read host; echo "{\\"Username\\":\\"$host\\",\\"Secret\\":\\"kept\\"}"',
        "none-for-you": "echo credentials not found; exit 1",
    }.items():
        program = tmp_path / f"docker-credential-{name}"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "config.json").write_text(json.dumps(content))
    assert find_login("r", {"DOCKER_CONFIG": str(tmp_path)}) == login
    assert find_login("r", {"HOME": str(tmp_path)}) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("{", "is not JSON .* docker login r", id="no JSON"),
        pytest.param('{"auths": {"r": {"auth": "!"}}}', "cannot be read; write it again", id="no base64"),
        pytest.param(
            '{"credsStore": "not-there"}', "docker-credential-not-there, which is not in PATH", id="no helper"
        ),
    ],
)
def test_a_configuration_that_cannot_be_used(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(Problem, match=complaint):
        find_login("r", {"DOCKER_CONFIG": str(tmp_path)})


def test_the_command_line_says_how_to_install_what_it_pushed(
    archive: Path, registry: SmallRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["push", f"--registry={registry.name}/team", "--tag=2.0"]) == 0
    said = capsys.readouterr().out
    assert f"{registry.name}/team/pilotage-operator:2.0  {digest(manifest())}" in said
    assert f"--set image.registry={registry.name}/team --set image.tag=2.0" in said
    assert {"team/pilotage-scheduler/2.0", "team/pilotage-operator/2.0"} < set(registry.manifests)


def test_without_a_registry_the_command_line_shows_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["push", "--registry=", "--tag="]) == 1
    assert "make images push REGISTRY=registry.example.com/team TAG=1.0.0" in capsys.readouterr().err


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.tar"
    file.write_bytes(tar_of({"a": b""}))
    with pytest.raises(Problem, match="is not an image archive"):
        oci_archive.read(file, tmp_path)


@pytest.mark.skipif(not shutil.which("docker-registry"), reason="docker-registry is not installed here")
@pytest.mark.parametrize("content", [one_platform(), two_platforms(), old_docker()], ids=["one", "two", "old docker"])
def test_a_real_registry_takes_it(archive: Path, tmp_path: Path, content: bytes) -> None:
    archive.write_bytes(content)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = tmp_path / "registry.yml"
    storage = {"filesystem": {"rootdirectory": str(tmp_path / "data")}}
    configuration.write_text(json.dumps({"version": 0.1, "storage": storage, "http": {"addr": f"127.0.0.1:{port}"}}))
    with subprocess.Popen(["docker-registry", "serve", configuration], stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(port)
            [pushed] = push(["scheduler"], Wishes("dev"), parse_address(f"localhost:{port}/team"), "1.0")
        finally:
            process.terminate()
    kept = tmp_path / "data/docker/registry/v2/repositories/team/pilotage-scheduler/_manifests/tags/1.0/current/link"
    assert kept.read_text() == pushed.digest


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the registry did not start")
