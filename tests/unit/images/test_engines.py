from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.errors import Problem
from images import buildah as buildah_module
from images import engines
from images.buildah import Buildah
from images.commands import Commands
from images.docker import Docker, find_docker
from images.engines import Engine, find_engine
from images.order import Order
from images.store import Store
from images.testing import RecordedCommands

ORDER = Order(
    image="localhost/pilotage-scheduler:dev",
    context=Path("/context"),
    dockerfile=Path("/context/Dockerfile.scheduler"),
    fingerprint="abc",
    arguments={"BASE": "localhost/python:3.13-slim", "PIP_INDEX_URL": None},
    certificates=Path("/ca.pem"),
)
FOR_ARM = Order("localhost/x:dev", Path("/context"), Path("/context/Dockerfile"), "abc", ("linux/arm64",))
SHARED = [
    "--tag=localhost/pilotage-scheduler:dev",
    "--label=dev.pilotage.inputs=abc",
    "--file=/context/Dockerfile.scheduler",
    "--build-arg=BASE=localhost/python:3.13-slim",
    "--build-arg=PIP_INDEX_URL",
    "--secret=id=ca,src=/ca.pem",
    "/context",
]
SHARED_FOR_ARM = ["--tag=localhost/x:dev", "--label=dev.pilotage.inputs=abc", "--file=/context/Dockerfile", "/context"]
OURS = ["unshare", "--mount", "buildah", "--root=/store/storage", "--runroot=/store/run"]


def _buildah(driver: str = "overlay") -> Buildah:
    return Buildah(RecordedCommands(), Store(Path("/store")), driver)


@pytest.mark.parametrize(
    ("engine", "order", "command"),
    [
        pytest.param(
            Docker(RecordedCommands(), buildx=True),
            ORDER,
            ["docker", "buildx", "build", "--load", "--progress=plain", *SHARED],
            id="docker with buildx loads the image into the engine",
        ),
        pytest.param(
            Docker(RecordedCommands(), buildx=False),
            ORDER,
            ["docker", "build", "--progress=plain", *SHARED],
            id="docker without buildx builds all the same",
        ),
        pytest.param(
            Docker(RecordedCommands(), buildx=True),
            FOR_ARM,
            ["docker", "buildx", "build", "--load", "--progress=plain", "--platform=linux/arm64", *SHARED_FOR_ARM],
            id="one platform is named",
        ),
        pytest.param(
            _buildah(),
            ORDER,
            [*OURS, "--storage-driver=overlay", "build", "--isolation=chroot", "--layers=true", *SHARED],
            id="buildah keeps to storage of its own and caches layers",
        ),
        pytest.param(
            _buildah("vfs"),
            ORDER,
            [*OURS, "--storage-driver=vfs", "build", "--isolation=chroot", "--layers=false", *SHARED],
            id="buildah without overlay keeps no layers because each is a whole copy",
        ),
    ],
)
def test_the_command_that_builds(engine: Engine, order: Order, command: list[str]) -> None:
    assert engine.build_command(order) == command


def test_several_platforms_go_to_an_archive() -> None:
    order = Order("localhost/x:dev", Path("/c"), Path("/c/Dockerfile"), "abc", ("linux/amd64", "linux/arm64"))
    command = Docker(RecordedCommands(), buildx=True).platforms_command(order, Path("/a.tar"))
    assert command[:3] == ["docker", "buildx", "build"]
    assert "--platform=linux/amd64,linux/arm64" in command
    assert "--output=type=oci,dest=/a.tar,name=localhost/x:dev" in command
    assert "--load" not in command


@pytest.mark.parametrize(
    ("engine", "platforms", "problem"),
    [
        pytest.param(Docker(RecordedCommands(), True), ["linux/amd64", "linux/arm64"], None, id="buildx takes several"),
        pytest.param(Docker(RecordedCommands(), False), ["linux/arm64"], None, id="docker takes any one"),
        pytest.param(
            Docker(RecordedCommands(), False),
            ["linux/amd64", "linux/arm64"],
            "install the buildx plugin",
            id="docker without buildx says what several need",
        ),
        pytest.param(_buildah(), [], None, id="buildah builds for this machine"),
        pytest.param(_buildah(), ["linux/amd64"], None, id="buildah takes this machine by name"),
        pytest.param(_buildah(), ["linux/arm64"], "for linux/amd64 only", id="buildah refuses another machine"),
        pytest.param(
            _buildah(), ["linux/amd64", "linux/arm64"], "start Docker with buildx", id="buildah refuses several"
        ),
    ],
)
def test_platforms(engine: Engine, platforms: list[str], problem: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buildah_module, "own_platform", lambda: "linux/amd64")
    if problem is None:
        engine.check(platforms)
    else:
        with pytest.raises(Problem, match=problem):
            engine.check(platforms)


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        pytest.param({}, None, id="no engine answers: no docker"),
        pytest.param({"docker buildx version": "v1"}, None, id="a client with buildx alone is no engine"),
        pytest.param({"docker info": "ok"}, ["docker", "build"], id="an engine without buildx"),
        pytest.param({"docker info": "ok", "buildx version": "v1"}, ["docker", "buildx"], id="an engine with buildx"),
    ],
)
def test_docker_is_taken_where_an_engine_answers(answers: dict[str, str], found: list[str] | None) -> None:
    docker = find_docker(RecordedCommands(answers))
    assert (docker and docker.build_command(ORDER)[:2]) == found


def test_without_docker_and_without_root_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "is_root", lambda: False)
    with pytest.raises(Problem, match=r"start Docker .* or run this again as root"):
        find_engine(RecordedCommands(), Store(tmp_path))


@pytest.mark.parametrize(
    ("existing", "answers", "driver"),
    [
        pytest.param(None, {"overlay info": "{}"}, "overlay", id="overlay where it works"),
        pytest.param(None, {}, "vfs", id="vfs where overlay does not work"),
        pytest.param("vfs-images", {"overlay info": "{}"}, "vfs", id="the kind that the storage already is"),
    ],
)
def test_the_storage_driver(
    existing: str | None, answers: dict[str, str], driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "is_root", lambda: True)
    monkeypatch.setattr(engines, "ensure_packages", lambda packages, why: None)
    if existing:
        (tmp_path / "storage" / existing).mkdir(parents=True)
    engine = find_engine(RecordedCommands(answers), Store(tmp_path))
    assert f"--storage-driver={driver}" in engine.build_command(ORDER)


@pytest.mark.parametrize(
    ("engine_of", "answer"),
    [
        pytest.param(
            lambda commands: Docker(commands, True),
            '[{"Id": "sha256:1", "Config": {"Labels": {"dev.pilotage.inputs": "abc"}}}]',
            id="docker",
        ),
        pytest.param(
            lambda commands: Buildah(commands, Store(Path("/store")), "overlay"),
            '{"FromImageID": "sha256:1", "OCIv1": {"config": {"Labels": {"dev.pilotage.inputs": "abc"}}}}',
            id="buildah",
        ),
    ],
)
def test_an_image_tells_what_it_was_made_from(engine_of: Callable[[Commands], Engine], answer: str) -> None:
    facts = engine_of(RecordedCommands({"inspect": answer})).facts("localhost/x:dev")
    assert facts is not None
    assert (facts.image_id, facts.fingerprint) == ("sha256:1", "abc")
    unlabelled = answer.replace('{"dev.pilotage.inputs": "abc"}', "null")
    facts = engine_of(RecordedCommands({"inspect": unlabelled})).facts("localhost/x:dev")
    assert facts is not None
    assert facts.fingerprint is None
    assert engine_of(RecordedCommands()).facts("localhost/x:dev") is None
