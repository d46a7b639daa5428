"""There is one demo for each user; checkouts that share it say so, and wait for each other."""

import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from localcluster import demo_ground, real_kind, record
from localcluster.demo_ground import Ground


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))


def here(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(demo_ground, "REPOSITORY", Path(folder))


def test_a_checkout_learns_who_brought_the_demo_up_before(monkeypatch: pytest.MonkeyPatch) -> None:
    here(monkeypatch, "/a")
    with demo_ground.ours() as before:
        assert before == ""
    with demo_ground.ours() as before:
        assert before == "", "it was this one"
    here(monkeypatch, "/b")
    assert demo_ground.started_elsewhere() == "/a"
    with demo_ground.ours() as before:
        assert before == "/a"
    assert demo_ground.started_elsewhere() == ""
    demo_ground.forget()
    here(monkeypatch, "/c")
    assert demo_ground.started_elsewhere() == ""


def test_two_at_once_wait_for_each_other_and_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here(monkeypatch, "/a")
    done: list[str] = []

    def second() -> None:
        with demo_ground.ours():
            done.append("second")

    with demo_ground.ours():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.5)
        done.append("first")
    thread.join()
    assert done == ["first", "second"]
    assert "another `make demo` is running in /a; waiting for it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("recorded", "of_kind", "kind_makes_nodes", "root", "ground"),
    [
        pytest.param("full", False, True, True, "own nodes", id="a cluster of ours goes on, whatever Docker can"),
        pytest.param("control-plane", False, True, True, "fake nodes", id="so does one with fake nodes"),
        pytest.param(None, True, False, True, "kind", id="and one of the real kind"),
        pytest.param(None, False, True, False, "kind", id="a new one is made by Docker where it can"),
        pytest.param(None, False, False, True, "own nodes", id="else by root"),
        pytest.param(None, False, False, False, "fake nodes", id="else by nobody"),
    ],
)
def test_where_the_demo_runs(
    recorded: str | None,
    of_kind: bool,
    kind_makes_nodes: bool,
    root: bool,
    ground: Ground,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "load", lambda name: SimpleNamespace(shape=recorded) if recorded else None)
    monkeypatch.setattr(real_kind, "cluster_names", lambda: ["demo"] if of_kind else [])
    monkeypatch.setattr(real_kind, "makes_nodes", lambda words, version: kind_makes_nodes)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    assert demo_ground.find_ground("demo") == ground
