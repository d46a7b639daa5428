"""A shell for printed commands: a folder as a reader has it, the cluster's programs on the path, a home of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from kit.control_plane import ControlPlane
from kit.printed_commands import Printed, files_of
from localcluster.binaries import TOOLS
from localcluster.build import ensure
from localcluster.paths import REPOSITORY, cache_dir, state_dir

PATIENCE = 60.0  # seconds until something must look as it is printed
LINKED = ("charts", "docs", "hack", "tests", "Makefile", ".venv")
VARIABLE = re.compile(r"(\w+)=\$\(")  # what a shell keeps for the next commands
WAITS_FOR_A_POD = ("pilotage simulate", "pilotage explain", "pilotage what-if")  # they end with 3 where a pod waits
FINDS_FAULTS = "pilotage check "  # it ends with 1 where it shows some
# What differs from one day to the next, and what stands for it; the width of columns follows from them.
CHANGES = (
    (re.compile(r"\b(?:\d+(?:ms|[smhd]))+(?=\s|$)"), "AGE"),
    (re.compile(r"\b\d+\.\d s\b"), "SECONDS s"),
    (re.compile(r"-[0-9a-f]{7,10}-[a-z0-9]{5}\b"), "-POD"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "HASH"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r" $", re.MULTILINE), ""),
)


class NotAsPrinted(AssertionError):
    """A printed command failed, or said something else than is printed."""


class PrintedShell:
    """Runs the commands of one page in a folder of its own."""

    def __init__(self, folder: Path, control_plane: ControlPlane | None, swapped: Mapping[str, str]) -> None:
        self.folder, self._swapped = folder, swapped
        self._endless: list[tuple[Printed, subprocess.Popen[bytes], Path]] = []
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "KUBECONFIG": str(folder / ".kube" / "config"),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PILOTAGE_CACHE": str(cache_dir()),
            "PILOTAGE_STATE": str(state_dir()),
        }
        self._lay_out(control_plane)

    def _lay_out(self, control_plane: ControlPlane | None) -> None:
        for name in LINKED:
            (self.folder / name).symlink_to(REPOSITORY / name)
        shutil.copytree(REPOSITORY / "examples", self.folder / "examples")
        (self.folder / ".kube").mkdir()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "pilotage").symlink_to(Path(sys.executable).with_name("pilotage"))
        if control_plane is not None:
            shutil.copy(control_plane.kubeconfig, self.folder / ".kube" / "config")
            (programs / "kubectl").symlink_to(control_plane.cluster.binaries["kubectl"])
            (programs / "helm").symlink_to(ensure(TOOLS["helm4"]) / "helm")

    def bring(self, page: Path) -> None:
        """Write the files that a page shows."""
        for name, text in files_of(page).items():
            (self.folder / name).write_text(self._meant(text))

    def run(self, printed: Printed) -> None:
        """Run a command: it succeeds, and says what is printed, soon if not at once."""
        if variable := VARIABLE.match(printed.command):
            self._environment[variable[1]] = self._value(printed, variable[1])
            return
        deadline = time.monotonic() + PATIENCE
        while problem := self._problem(printed):
            if printed.output is None or time.monotonic() > deadline:
                raise NotAsPrinted(f"{printed}\n{problem}")
            time.sleep(0.2)

    def start(self, printed: Printed, says: str) -> None:
        """Start a command that goes on until somebody stops it, and wait until it says something."""
        log = self.folder / f"endless-{len(self._endless)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                _bash(self._meant(printed.command)), cwd=self.folder, env=self._environment, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip
        self._endless.append((printed, process, log))
        deadline = time.monotonic() + PATIENCE
        while says not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise NotAsPrinted(f"{printed}\n{log.read_text(errors='replace')}")
            time.sleep(0.1)

    def close(self) -> None:
        """Stop what goes on; it is a failure if it has ended by itself."""
        ended = []
        for printed, process, log in self._endless:
            if process.poll() is not None:
                ended.append(f"{printed} ended by itself\n{log.read_text(errors='replace')}")
            else:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(20)
        if ended:
            raise NotAsPrinted("\n".join(ended))

    def _problem(self, printed: Printed) -> str:
        done = self._done(self._meant(printed.command))
        if done.returncode not in fine_codes(printed):
            return f"ended with code {done.returncode}\n{done.stdout}{done.stderr}"
        # A page shows the answer alone, or what a terminal shows: notes come first there.
        if printed.output is None or any(
            same(said, printed.output) for said in (done.stdout, done.stderr + done.stdout)
        ):
            return ""
        return f"printed:\n{normal(printed.output)}\nsaid:\n{normal(done.stdout)}\n{done.stderr}"

    def _value(self, printed: Printed, name: str) -> str:
        """Return what a shell keeps under a name for the commands that follow."""
        done = self._done(f'{self._meant(printed.command)} && printf %s "${name}"')
        if done.returncode or not done.stdout:
            raise NotAsPrinted(f"{printed}\nended with code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _done(self, text: str) -> subprocess.CompletedProcess[str]:
        words = _bash(text)
        return subprocess.run(
            words, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=300, check=False
        )

    def _meant(self, text: str) -> str:
        for shown, meant in self._swapped.items():
            text = text.replace(shown, meant)
        return text


def fine_codes(printed: Printed) -> tuple[int, ...]:
    """Return the codes with which a command may end."""
    command = printed.command.removeprefix(".venv/bin/")
    if command.startswith(FINDS_FAULTS) and printed.output is not None:
        return (0, 1)
    return (0, 3) if command.startswith(WAITS_FOR_A_POD) else (0,)


def _bash(text: str) -> list[str]:
    return ["bash", "-o", "pipefail", "-c", text]


def same(said: str, printed: str) -> bool:
    """Tell whether two outputs differ at most in what differs from one day to the next."""
    return normal(said) == normal(printed)


def normal(text: str) -> str:
    """Return an output with what differs from one day to the next replaced."""
    for pattern, word in CHANGES:
        text = pattern.sub(word, text)
    return text.strip()
