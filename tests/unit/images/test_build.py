import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from images import stand_in
from images.archives import export_from
from images.build import Workshop
from images.buildah import Buildah
from images.components import COMPONENTS, component
from images.docker import Docker
from images.order import Wishes
from images.store import Store
from images.testing import RecordedCommands
from localcluster.errors import Problem

SCHEDULER = COMPONENTS["scheduler"]
IMAGE = "localhost/pilotage-scheduler:dev"
DEV = Wishes("dev")


class Machine:
    """An engine that keeps one label per image, as the build command gave it."""

    def __init__(self, store: Store, docker: bool) -> None:
        self.docker = docker
        self.commands = RecordedCommands(effect=self._play)
        self.engine = Docker(self.commands, buildx=True) if docker else Buildah(self.commands, store, "overlay")

    @property
    def built(self) -> list[str]:
        """The images that were built, in order."""
        return [_option(argv, "--tag=") for argv in self.commands.ran if "build" in argv]

    def _play(self, argv: Sequence[str]) -> None:
        if "build" in argv:
            self._answer(_option(argv, "--tag="), _option(argv, "--label=").partition("=")[2])
        for archive in (word for word in argv if ".tar" in word):
            output = archive.removeprefix("--output=type=oci,dest=").removeprefix("--output=").split(",")[0]
            Path(output.removeprefix("oci-archive:").partition(".tar")[0] + ".tar").write_text("archive")

    def _answer(self, image: str, label: str) -> None:
        labels = {"Labels": {"dev.pilotage.inputs": label}}
        docker = [{"Id": f"sha256:{label}", "Config": labels}]
        buildah = {"FromImageID": f"sha256:{label}", "OCIv1": {"config": labels}}
        self.commands.answers[f"inspect --type=image {image}"] = json.dumps(buildah)
        self.commands.answers[f"image inspect {image}"] = json.dumps(docker)


def _option(argv: Sequence[str], beginning: str) -> str:
    return next(word for word in argv if word.startswith(beginning)).removeprefix(beginning)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for name, content in {
        "Dockerfile.scheduler": "FROM x\nCOPY scheduler/src scheduler/src\n",
        "scheduler/src/cli.py": "",
        "scheduler/pyproject.toml": '[project]\nversion = "1.2.3"\n',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.temporary.mkdir(parents=True)
    return store


@pytest.fixture(autouse=True)
def _no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_in, "ensure_packages", lambda packages, why: None)


def test_docker_builds_on_the_base_that_the_dockerfile_names(repository: Path, store: Store) -> None:
    machine = Machine(store, docker=True)
    Workshop(machine.engine, machine.commands, store, repository).bring_up_to_date(SCHEDULER, DEV)
    assert machine.built == [IMAGE]
    assert not [word for word in machine.commands.ran[0] if word.startswith("--build-arg=BASE")]
    assert "--build-arg=VERSION=1.2.3" in machine.commands.ran[0]


def test_buildah_first_makes_the_base(repository: Path, store: Store) -> None:
    machine = Machine(store, docker=False)
    Workshop(machine.engine, machine.commands, store, repository).bring_up_to_date(SCHEDULER, DEV)
    assert machine.built == [stand_in.IMAGE, IMAGE]
    assert [argv[2] for argv in machine.commands.ran] == ["mmdebstrap", "buildah", "buildah", "buildah"]
    assert f"--build-arg=BASE={stand_in.IMAGE}" in machine.commands.ran[2]


@pytest.mark.parametrize("docker", [pytest.param(True, id="docker"), pytest.param(False, id="buildah")])
def test_a_base_that_was_asked_for_is_used(docker: bool, repository: Path, store: Store) -> None:
    machine = Machine(store, docker)
    workshop = Workshop(machine.engine, machine.commands, store, repository)
    workshop.bring_up_to_date(SCHEDULER, Wishes("dev", base="my/python:3.13"))
    assert machine.built == [IMAGE]
    assert "--build-arg=BASE=my/python:3.13" in machine.commands.ran[0]


@pytest.mark.parametrize("docker", [pytest.param(True, id="docker"), pytest.param(False, id="buildah")])
def test_an_unchanged_tree_runs_nothing_and_a_change_builds_again(docker: bool, repository: Path, store: Store) -> None:
    machine = Machine(store, docker)
    workshop = Workshop(machine.engine, machine.commands, store, repository)
    first = workshop.bring_up_to_date(SCHEDULER, DEV)
    machine.commands.ran.clear()

    assert workshop.bring_up_to_date(SCHEDULER, DEV) == first
    assert machine.commands.ran == []

    (repository / "scheduler/src/cli.py").write_text("changed")
    second = workshop.bring_up_to_date(SCHEDULER, DEV)
    assert machine.built == [IMAGE]
    assert second.archive != first.archive
    assert second.archive.read_text() == "archive"


def test_several_platforms_are_built_once_into_one_archive(repository: Path, store: Store) -> None:
    machine = Machine(store, docker=True)
    workshop = Workshop(machine.engine, machine.commands, store, repository)
    both = Wishes("dev", platforms=("linux/amd64", "linux/arm64"))
    first = workshop.bring_up_to_date(SCHEDULER, both)
    assert first.archive.is_file()
    assert workshop.bring_up_to_date(SCHEDULER, both) == first
    assert machine.built == [IMAGE]


def test_a_lost_archive_is_written_again_without_a_build(repository: Path, store: Store) -> None:
    machine = Machine(store, docker=False)
    workshop = Workshop(machine.engine, machine.commands, store, repository)
    workshop.bring_up_to_date(SCHEDULER, DEV).archive.unlink()
    machine.commands.ran.clear()
    assert workshop.bring_up_to_date(SCHEDULER, DEV).archive.is_file()
    assert machine.built == []


def test_an_unknown_image_is_named_with_the_way_out(store: Store) -> None:
    with pytest.raises(Problem, match=r"no image 'other:1'.*make images"):
        export_from(Docker(RecordedCommands(), True), store, "other:1")


def test_an_unknown_component_is_named_with_the_known_ones() -> None:
    with pytest.raises(Problem, match=r"no image of 'schedular'; choose from scheduler, operator"):
        component("schedular")
