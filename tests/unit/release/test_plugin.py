"""The small plugin: what is in it, and that it runs on a Python that has nothing else."""

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from localcluster.paths import REPOSITORY
from pilotage.cli.group import COMMANDS
from release import plugin

SMALL = sorted(name for name, listed in COMMANDS.items() if listed.small)
MOST = 400 << 10  # bytes


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    plugin.build(folder, "https://example.com/releases")
    return folder


def run(built: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it as kubectl would, on a Python without any other package."""
    command = [sys.executable, "-I", "-S", str(built / plugin.NAME), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_manifest_names_the_archive_by_its_hash_and_what_is_in_it(built: Path) -> None:
    manifest = yaml.safe_load((built / "pilotage.yaml").read_text())
    [archive] = built.glob("*.tar.gz")
    [platform] = manifest["spec"]["platforms"]
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert platform["uri"] == f"https://example.com/releases/{archive.name}"
    with tarfile.open(archive) as opened:
        assert {each["from"] for each in platform["files"]} == set(opened.getnames())
        assert opened.getmember(platform["bin"]).mode == 0o755
        texts = opened.extractfile("LICENSES.txt")
        assert texts is not None
        assert b"click" in texts.read()


def test_the_same_input_is_the_same_file(built: Path, tmp_path: Path) -> None:
    plugin.build(tmp_path, "https://example.com/releases")
    for each in built.iterdir():
        assert (tmp_path / each.name).read_bytes() == each.read_bytes()


def test_it_is_small_and_has_no_compiled_parts(built: Path) -> None:
    program = built / plugin.NAME
    assert program.stat().st_size < MOST
    with zipfile.ZipFile(program) as opened:
        assert {Path(name).suffix for name in opened.namelist()} == {".py", ""}


def test_it_offers_what_it_can_and_says_how_to_get_the_rest(built: Path) -> None:
    offered = run(built, "--help").stdout.partition("Commands:")[2]
    assert [line.split()[0] for line in offered.splitlines() if line.startswith("  ") and line[2] != " "][:-1] == SMALL
    done = run(built, "simulate")
    assert done.returncode == 2
    assert "simulate is not in the small plugin; install the wheel of the release with pipx or uv" in done.stderr
    assert "Did you mean" not in done.stderr


@pytest.mark.parametrize("verb", SMALL)
def test_each_of_its_verbs_works_without_other_packages(built: Path, verb: str) -> None:
    done = run(built, verb, "--help")
    assert done.returncode == 0, done.stderr
    assert f"Usage: kubectl pilotage {verb}" in done.stdout


def test_it_answers_from_a_file(built: Path, tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {}}
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump(pod))
    done = run(built, "queue", "-A", "-o", "yaml", "--pods", "--source", str(tmp_path / "pods.yaml"))
    assert [each["name"] for each in yaml.safe_load(done.stdout)["items"]] == ["web"]


def test_where_it_would_have_to_decide_it_says_what_is_missing(built: Path, tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}}")
    done = run(built, "top", "--source", str(tmp_path / "node.yaml"))
    assert done.returncode == 2
    assert done.stderr == (
        "this is the small plugin, which asks a running scheduler; for an answer without one, install the wheel of the "
        "release with pipx or uv (docs/kubectl.md)\n"
    )


def test_without_kubectl_it_says_so(built: Path) -> None:
    done = run(built, "queue", PATH="/nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("kubectl is required, and not on PATH")


def test_the_workflow_publishes_it() -> None:
    jobs = yaml.safe_load((REPOSITORY / ".github/workflows/release.yml").read_text())["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    [base] = [step["run"].partition('BASE="')[2].rstrip('"') for step in steps if "make plugin" in step.get("run", "")]
    assert base.endswith("/releases/download/$TAG")
    with_it = [step["with"] for step in steps if "dist/plugin/*" in str(step.get("with"))]
    assert [("subject-path" in each, "name" in each) for each in with_it] == [(True, False), (False, True)]
    assert any("gh release create" in step.get("run", "") and "release/plugin/*" in step["run"] for step in steps)
