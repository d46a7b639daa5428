"""The demo builds what it uses and nothing else, says how long all of it takes, and shows something meanwhile."""

from pathlib import Path

import pytest

from images.build import Built
from localcluster import demo_build
from localcluster.binaries import Tool
from localcluster.demo_ground import Ground
from localcluster.demo_shell import WAITS

IMAGES = "the images of scheduler and operator"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[str]:
    """What this user has built; building adds to it."""
    monkeypatch.setenv("PILOTAGE_CACHE", str(tmp_path))
    names: set[str] = set()

    def build(components: list[str], wishes: object) -> list[Built]:
        (tmp_path / "images" / "archives").mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / "archives" / "x.tar").touch()
        return [Built(name, tmp_path) for name in components]

    def ensure(tool: Tool) -> Path:
        names.add(tool.name)
        return tmp_path

    monkeypatch.setattr(demo_build, "is_built", lambda tool: tool.name in names)
    monkeypatch.setattr(demo_build, "ensure", ensure)
    monkeypatch.setattr(demo_build, "build", build)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    return names


@pytest.mark.parametrize(
    ("ground", "wanted"),
    [
        pytest.param(
            "own nodes",
            ["etcd", "kubernetes", "containerd", "coredns", "pause", "helm4", IMAGES],
            id="real nodes of our own take no kwok and no kind",
        ),
        pytest.param("kind", ["kubernetes", "kind", "helm4", IMAGES], id="with Docker no program of a node is built"),
        pytest.param(
            "fake nodes", ["etcd", "kubernetes", "kwok"], id="fake nodes take kwok, and neither images nor helm"
        ),
    ],
)
def test_what_is_missing_on_a_fresh_machine(built: set[str], ground: Ground, wanted: list[str]) -> None:
    assert [piece.name for piece in demo_build.missing(ground)] == wanted


def test_everything_is_announced_once_and_the_engine_is_shown_before_the_long_work(
    built: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown_after: list[int] = []
    show = demo_build._show_the_engine

    def noted() -> None:
        shown_after.append(len(built))
        show()

    monkeypatch.setattr(demo_build, "_show_the_engine", noted)
    images = demo_build.build_all("own nodes")
    said = capsys.readouterr().out
    assert said.startswith(
        f"To be built, once: etcd, kubernetes, containerd, coredns, pause, helm4, {IMAGES}. "
        "That takes about 19 minutes on 2 cores; if interrupted, the finished parts are kept.\n"
    )
    assert shown_after == [0], "before anything is built"
    assert "$ pilotage simulate -f examples/cluster.yaml -f examples/web.yaml --explain report\n" in said
    assert "NodeResourcesFit: Insufficient cpu (wants 3.5, 1.5 of 4 free)" in said
    assert built == {"etcd", "kubernetes", "containerd", "coredns", "pause", "helm4"}
    assert [image.image for image in images] == ["scheduler", "operator"]


@pytest.fixture
def everything_built(built: set[str], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """All that the demo uses is built already; what was shown meanwhile does not matter."""
    with monkeypatch.context() as patch:
        patch.setattr(demo_build, "_show_the_engine", lambda: None)
        demo_build.build_all("own nodes")
    return built


@pytest.mark.usefixtures("everything_built")
def test_a_warm_start_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert len(demo_build.build_all("own nodes")) == 2
    assert capsys.readouterr().out == ""


def test_what_takes_less_than_a_minute_is_announced_without_a_show(
    everything_built: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    everything_built.discard("etcd")
    demo_build.build_all("own nodes")
    assert capsys.readouterr().out == (
        "To be built, once: etcd. That takes about 40s on 2 cores; if interrupted, the finished parts are kept.\n"
    )


def test_each_command_to_try_works(built: set[str]) -> None:
    for line in demo_build.TO_TRY.splitlines():
        if line.startswith("  .venv/bin/pilotage"):
            done = demo_build.run_engine(line.split()[1:])
            assert done.returncode in (0, WAITS), done.stderr
            assert len(done.stdout.splitlines()) > 3
