from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from images import archives, engines
from images import buildah as buildah_module
from images.buildah import Buildah
from images.commands import Commands
from images.docker import Docker, find_docker
from images.engines import Engine, find_engine
from images.order import Order
from images.store import Store
from images.testing import RecordedCommands
from localcluster import docker_engine
from localcluster.errors import Problem

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


NETWORK = {"docker network inspect bridge": "[]"}


@pytest.mark.parametrize(
    ("answers", "found", "said"),
    [
        pytest.param({}, None, "", id="no engine answers: no docker"),
        pytest.param({"docker buildx version": "v1"}, None, "", id="a client with buildx alone is no engine"),
        pytest.param(
            {"docker info": "ok", "docker build --help": "Usage", **NETWORK},
            ["docker", "build", "--progress=plain", SHARED[0]],
            "",
            id="an engine without buildx whose client speaks to BuildKit itself",
        ),
        pytest.param(
            {"docker info": "ok"},
            None,
            "Docker has no buildx here, without which it cannot read our Dockerfiles: building without Docker\n",
            id="an engine without buildx whose client needs it",
        ),
        pytest.param(
            {"docker info": "ok", "buildx version": "v1", **NETWORK},
            ["docker", "buildx", "build", "--load", "--progress=plain", SHARED[0]],
            "",
            id="an engine with buildx",
        ),
        pytest.param(
            {"docker info": "ok", "buildx version": "v1"},
            ["docker", "buildx", "build", "--load", "--progress=plain", "--network=host", SHARED[0]],
            "",
            id="an engine that gives containers no network lends them the machine's",
        ),
    ],
)
def test_docker_is_taken_where_an_engine_can_build(
    answers: dict[str, str], found: list[str] | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    docker = find_docker(RecordedCommands(answers))
    assert (docker and docker.build_command(ORDER)[: len(found or [])]) == found
    assert capsys.readouterr().err == said


ABLE = {"docker info": "ok", "buildx version": "v1", **NETWORK}


@pytest.mark.parametrize(
    ("base", "reason", "kind", "said"),
    [
        pytest.param(None, None, Docker, "", id="an engine that has the base, or can pull it"),
        pytest.param(
            None,
            "no such host",
            Buildah,
            "Docker is available but cannot get python:3.13-slim (no such host): building without Docker\n",
            id="an engine that can pull nothing",
        ),
        pytest.param(
            "mine:1",
            "no such host",
            Buildah,
            "Docker is available but cannot get mine:1 (no such host): building without Docker\n",
            id="an engine that cannot get the base that was asked for",
        ),
    ],
)
def test_who_builds_where_an_engine_answers(
    base: str | None,
    reason: str | None,
    kind: type[Engine],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(engines, "is_root", lambda: True)
    monkeypatch.setattr(engines, "ensure_packages", lambda packages, why: None)
    asked: list[str] = []

    def why_not_there(image: str) -> str | None:
        asked.append(image)
        return reason

    monkeypatch.setattr(docker_engine, "why_not_there", why_not_there)
    assert isinstance(find_engine(RecordedCommands(ABLE), Store(tmp_path), base), kind)
    assert asked == [base or "python:3.13-slim"]
    assert capsys.readouterr().err == said


def test_docker_is_left_alone_where_ours_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_ENGINE", "own")
    assert find_docker(RecordedCommands(ABLE)) is None


def test_without_root_an_engine_that_can_pull_nothing_leaves_no_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "is_root", lambda: False)
    monkeypatch.setattr(docker_engine, "why_not_there", lambda image: "no such host")
    with pytest.raises(Problem, match=r"where it can pull python:3.13-slim, or run this again as root"):
        find_engine(RecordedCommands(ABLE), Store(tmp_path))


def test_the_newest_image_of_a_name_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_CACHE", str(tmp_path))
    docker = '[{"Id": "sha256:d", "Created": "2026-11-18T04:12:40.5Z", "Config": {}}]'
    ours = '{"FromImageID": "o", "OCIv1": {"created": "2026-11-18T03:59:00Z", "config": {}}}'
    commands = RecordedCommands({"image inspect": docker, "--type=image": ours}, effect=_write_archive)
    monkeypatch.setattr(archives, "commands_of", lambda store: commands)
    both = [Docker(commands, buildx=False), Buildah(commands, Store(tmp_path), "overlay")]
    monkeypatch.setattr(archives, "engines_with_images", lambda commands, store: both)
    assert archives.export("localhost/x:dev").name == "localhost_x_dev@d.tar"
    commands.answers["image inspect"] = docker.replace("2026", "2025")
    assert archives.export("localhost/x:dev").name == "localhost_x_dev@o.tar"
    commands.answers.clear()
    with pytest.raises(Problem, match="no image 'localhost/x:dev' on this machine"):
        archives.export("localhost/x:dev")


def _write_archive(argv: Sequence[str]) -> None:
    [word] = [word for word in argv if ".tar" in word]
    Path(word.removeprefix("--output=").removeprefix("oci-archive:").partition(".tar")[0] + ".tar").write_text("")


def test_without_docker_and_without_root_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "is_root", lambda: False)
    with pytest.raises(Problem, match=r"start Docker with buildx .* or run this again as root"):
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
