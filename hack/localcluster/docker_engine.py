"""What the Docker engine of this machine can give, if there is one: asked before anything is left to it."""

import shutil
import subprocess
import sys

from localcluster.progress import say

ANSWER_SECONDS = 10.0
RUN_SECONDS = 60.0
PULL_SECONDS = 900.0  # a node image is a gigabyte


def answers() -> bool:
    """Whether a Docker engine, not only its client, is there."""
    if not shutil.which("docker"):
        return False
    try:
        return _docker("info", seconds=ANSWER_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def why_not_there(image: str) -> str | None:
    """See that the engine has an image, pulled now if it can be; otherwise why not, in the engine's words."""
    if _docker("image", "inspect", image, seconds=ANSWER_SECONDS).returncode == 0:
        return None
    say(f"asking Docker for {image}")
    # Its progress is shown as it comes; on standard output it would get among what our own commands print.
    pull = ["docker", "pull", image]
    try:
        done = subprocess.run(
            pull, stdout=sys.__stderr__, stderr=subprocess.PIPE, text=True, timeout=PULL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it was not pulled within {PULL_SECONDS / 60:.0f} minutes"
    return None if done.returncode == 0 else _last_words(done.stderr)


def why_not_privileged(image: str) -> str | None:
    """Why the engine cannot run an image with all rights, as a node needs them; None if it can."""
    words = ("run", "--rm", "--privileged", "--network=none", "--entrypoint=/bin/true", image)
    try:
        done = _docker(*words, seconds=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        return f"a container did not end within {RUN_SECONDS:.0f} s"
    return None if done.returncode == 0 else _last_words(done.stderr)


def labels_of_containers(label: str) -> list[str]:
    """The values of a label among all containers, each once."""
    form = f'{{{{.Label "{label}"}}}}'
    listed = _docker("ps", "--all", f"--filter=label={label}", f"--format={form}", seconds=ANSWER_SECONDS)
    return sorted(set(listed.stdout.split()))


def _last_words(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and "docker run --help" not in line]
    return (
        lines[-1].partition("Error response from daemon: ")[2][:300] or lines[-1][:300] if lines else "no reason given"
    )


def _docker(*words: str, seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=seconds, check=False)
