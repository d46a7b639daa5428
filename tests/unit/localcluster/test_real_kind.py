"""The real kind makes nodes where a Docker engine can; everywhere else ours do, and one sentence says why."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localcluster import docker_engine, real_kind, record
from localcluster.entry import goes_to_the_real_kind
from localcluster.errors import Problem

CREATE = ["create", "cluster", "--name=x"]
# A docker that plays an engine: ANSWERS, HAS and PULLS say what it can, KIND names clusters of the real kind.
FAKE = """#!/bin/sh
case "$1 $2" in
"info ") [ -n "$ANSWERS" ] ;;
"image inspect") [ "$HAS" = "$3" ] ;;
"run --rm") [ -z "$TIED" ] || { echo "docker: Error response from daemon: unable to apply caps" >&2; exit 1; } ;;
"ps --all") printf '%s\\n' $KIND $KIND ;;
"pull $PULLS") echo "pulled $2" ;;
pull*) echo "Error response from daemon: no such host" >&2; exit 1 ;;
*) exit 2 ;;
esac
"""
Docker = Callable[..., None]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    """Puts a docker on this machine, and no other; nothing is on record."""
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PILOTAGE_ENGINE", raising=False)
    monkeypatch.delenv("KIND_CLUSTER_NAME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "sh").symlink_to("/bin/sh")

    def put(**environment: str) -> None:
        (tmp_path / "docker").write_text(FAKE)
        (tmp_path / "docker").chmod(0o755)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    return put


def test_without_docker_our_own_nodes_are_made_and_nothing_is_said(
    docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not goes_to_the_real_kind(CREATE)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("environment", "words", "real", "said"),
    [
        pytest.param({}, CREATE, False, "", id="only a client"),
        pytest.param({"ANSWERS": "1", "HAS": real_kind.DEFAULT_IMAGE}, CREATE, True, "", id="the image is there"),
        pytest.param(
            {"ANSWERS": "1", "PULLS": real_kind.DEFAULT_IMAGE}, CREATE, True, "asking Docker", id="it can be pulled"
        ),
        pytest.param(
            {"ANSWERS": "1"},
            CREATE,
            False,
            "available but cannot get kindest/node:v1.37.0 (no such host): nodes are created without Docker\n",
            id="it cannot be pulled",
        ),
        pytest.param(
            {"ANSWERS": "1", "HAS": "mine:1", "TIED": "1"},
            [*CREATE, "--image=mine:1"],
            False,
            "available but cannot run mine:1 as a node (unable to apply caps): nodes are created without Docker\n",
            id="its containers cannot have all rights",
        ),
        pytest.param({"ANSWERS": "1", "HAS": "mine:1"}, [*CREATE, "--image=mine:1"], True, "", id="an image by name"),
        pytest.param(
            {"ANSWERS": "1", "HAS": "mine:1"}, [*CREATE, "--image", "mine:1"], True, "", id="and with a space"
        ),
        pytest.param(
            {"ANSWERS": "1", "HAS": real_kind.DEFAULT_IMAGE}, [*CREATE, "--shape=full"], False, "", id="a shape of ours"
        ),
        pytest.param(
            {"ANSWERS": "1", "HAS": real_kind.DEFAULT_IMAGE, "PILOTAGE_ENGINE": "own"},
            CREATE,
            False,
            "",
            id="ours was asked for",
        ),
        pytest.param(
            {"ANSWERS": "1", "HAS": "kindest/node:v1.36.4", "K8S_VERSION": "1.36.4"},
            CREATE,
            True,
            "",
            id="another version of Kubernetes",
        ),
    ],
)
def test_who_makes_the_nodes(
    docker: Docker,
    environment: dict[str, str],
    words: list[str],
    real: bool,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    docker(**environment)
    assert goes_to_the_real_kind(words) is real
    told = capsys.readouterr().err
    assert told.endswith(said) if said.endswith("\n") else (said in told and bool(said) == bool(told))


def test_who_insists_on_docker_is_told_what_it_lacks(docker: Docker) -> None:
    docker(PILOTAGE_ENGINE="docker")
    with pytest.raises(Problem, match=r"cannot get kindest/node:v1.37.0 \(no such host\); fix that, or unset"):
        goes_to_the_real_kind(CREATE)


@pytest.mark.parametrize(
    ("words", "real"),
    [
        pytest.param(["delete", "cluster", "--name=theirs"], True, id="a cluster of the real kind"),
        pytest.param(["delete", "cluster", "--name", "theirs"], True, id="with a space"),
        pytest.param(["load", "docker-image", "x:1", "-n", "theirs"], True, id="an image for it"),
        pytest.param(["delete", "cluster", "--name=ours"], False, id="a cluster of ours"),
        pytest.param(["delete", "cluster", "--name=none"], False, id="a cluster that is not there"),
        pytest.param(["get", "clusters"], False, id="the list of both"),
        pytest.param(["demo", "up"], False, id="a verb of ours"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_a_cluster_is_looked_for_where_it_is(
    docker: Docker, words: list[str], real: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(ANSWERS="1", KIND="theirs ours")
    monkeypatch.setattr(record, "load", lambda name: object() if name == "ours" else None)
    assert goes_to_the_real_kind(words) is real
    assert real_kind.cluster_names() == ["ours", "theirs"]


def test_a_pull_that_never_ends_is_given_up(docker: Docker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    docker(ANSWERS="1")
    (tmp_path / "docker").write_text(
        f'#!{sys.executable}\nimport sys, time\ntime.sleep(20 * ("pull" in sys.argv))\nsys.exit(1)\n'
    )
    monkeypatch.setattr(docker_engine, "PULL_SECONDS", 0.5)
    assert docker_engine.why_not_there("x:1") == "it was not pulled within 0 minutes"


@pytest.mark.parametrize(
    ("given", "kubernetes", "expected"),
    [
        pytest.param(["get", "clusters"], "1.37.1", ["get", "clusters"], id="other verbs pass unchanged"),
        pytest.param(
            CREATE,
            "1.37.1",
            [*CREATE, f"--config={real_kind.TWO_WORKERS}", f"--image={real_kind.DEFAULT_IMAGE}"],
            id="a new cluster gets two workers, and the image that was looked for",
        ),
        pytest.param(
            ["create", "cluster", "--config", "mine.yaml"],
            "1.36.4",
            ["create", "cluster", "--config", "mine.yaml", "--image=kindest/node:v1.36.4"],
            id="a user's own configuration stays, the version is added",
        ),
        pytest.param(
            ["create", "cluster", "--config=mine.yaml", "--image=other:v1.35.4"],
            "1.36.4",
            ["create", "cluster", "--config=mine.yaml", "--image=other:v1.35.4"],
            id="a user's own image stays",
        ),
    ],
)
def test_arguments(given: list[str], kubernetes: str, expected: list[str]) -> None:
    assert real_kind.arguments(given, kubernetes) == expected


@pytest.mark.parametrize(
    ("words", "image"),
    [
        pytest.param([], real_kind.DEFAULT_IMAGE, id="nothing is said, as by the demo"),
        pytest.param(["create", "cluster", "--image", "a:1"], "a:1", id="at the end"),
        pytest.param(["create", "cluster", "--image=a:1", "--wait=5s"], "a:1", id="in the middle"),
    ],
)
def test_the_node_image(words: list[str], image: str) -> None:
    assert real_kind.image_of(words, "1.37.1") == image


@pytest.mark.parametrize(
    ("script", "answers"),
    [
        pytest.param("#!/bin/sh\nexit 0\n", True, id="an engine answers"),
        pytest.param("#!/bin/sh\nexit 1\n", False, id="only the client is there"),
        pytest.param(None, False, id="nothing is there"),
    ],
)
def test_engine_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, answers: bool) -> None:
    if script:
        (tmp_path / "docker").write_text(script)
        (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PILOTAGE_ENGINE", raising=False)
    assert real_kind.engine_answers() is answers
