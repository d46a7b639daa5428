"""Creates `.venv` with both packages and all development tools, with nothing but Python.

This file runs before anything is installed, on any Python. It uses only the standard library and no syntax newer than
Python 3.6, so that an old Python reaches the message that it is too old.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON_IN_VENV = VENV / "bin" / "python"
UV_IN_VENV = VENV / "bin" / "uv"
# The Makefile compares the age of this file with uv.lock and the pyproject files.
STAMP = VENV / ".ready"


class SetupError(Exception):
    """A failure with its fix, in one sentence."""


def main() -> None:
    """Update `.venv` to the state of uv.lock."""
    check_python()
    discard_unfit_venv()
    version, hashes = locked_uv()
    if installed_uv() != version:
        make_venv()
        install_uv(version, hashes)
    sync()
    STAMP.touch()


# --- Python and its virtual environment


def check_python() -> None:
    """Reject a Python that is too old, and suggest a newer one on this machine."""
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return
    newer = [name for name in (f"python3.{minor}" for minor in range(11, 30)) if shutil.which(name)]
    raise SetupError(
        f"Pilotage needs Python 3.11 or newer, but {sys.executable} is {version_of_this_python()};"
        f" choose another one: PYTHON={newer[0] if newer else '/path/to/python3.11'} make setup"
    )


def discard_unfit_venv() -> None:
    """Remove a `.venv` with a different Python than the requested one, or with one that no longer runs."""
    if not VENV.exists():
        return
    # Removed first, so that an unfinished .venv never counts as ready.
    if STAMP.exists():
        STAMP.unlink()
    found = output_of([str(PYTHON_IN_VENV), "-c", "import platform; print(platform.python_version())"])
    if found != version_of_this_python():
        say(f"replacing .venv, whose Python is {found or 'missing'}, by one with Python {version_of_this_python()}")
        shutil.rmtree(str(VENV))


def make_venv() -> None:
    """Create `.venv`, or restore pip in an existing one."""
    if importlib.util.find_spec("ensurepip") is None:
        install_ensurepip()
    say(f"creating .venv with Python {version_of_this_python()}")
    run([sys.executable, "-m", "venv", str(VENV)])


def install_ensurepip() -> None:
    """Install the part of Python that Debian has in a separate package."""
    package = "python{}.{}-venv".format(*sys.version_info)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError(
            f"{sys.executable} cannot create virtual environments, since its module ensurepip is missing;"
            f" on Debian or Ubuntu run: sudo apt-get install {package}"
        )
    say(f"installing the Debian package {package}, without which Python cannot create .venv")
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run(["apt-get", "-qq", "update"], env=quiet)
    run(["apt-get", "-qq", "install", "--yes", "--no-install-recommends", package], env=quiet)


def version_of_this_python() -> str:
    """Return the version of the running Python, such as 3.11.2."""
    return ".".join(str(number) for number in sys.version_info[:3])


# --- uv and what it installs


def locked_uv() -> "tuple[str, list[str]]":
    """Return the version of uv that uv.lock names, and the hashes of its wheels."""
    # Here and not above: Python 3.10 has no tomllib and must still reach check_python.
    import tomllib

    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    uv = next(package for package in lock["package"] if package["name"] == "uv")
    return uv["version"], [wheel["hash"] for wheel in uv["wheels"]]


def installed_uv() -> str:
    """Return the version of the uv in `.venv`, or nothing."""
    # It answers: uv 0.13.7 (x86_64-unknown-linux-gnu)
    words = output_of([str(UV_IN_VENV), "--version"]).split()
    return words[1] if len(words) > 1 else ""


def install_uv(version: str, hashes: "list[str]") -> None:
    """Install uv into `.venv`, accepting only files that uv.lock knows."""
    say(f"installing uv {version}")
    pip = [str(PYTHON_IN_VENV), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text(" ".join([f"uv=={version}", *(f"--hash={digest}" for digest in hashes)]))
        # By force: pip would take the record of a damaged uv for uv itself.
        checked = ["--require-hashes", "--only-binary=:all:", "--force-reinstall"]
        run([*pip, "install", *checked, f"--requirement={requirements}"])


def sync() -> None:
    """Install exactly what uv.lock says, with both packages editable."""
    say("installing both packages and the development tools")
    environment = dict(os.environ, UV_PROJECT_ENVIRONMENT=str(VENV), UV_PYTHON_DOWNLOADS="never")
    # Some other environment may be active; uv would warn that it is not ours.
    environment.pop("VIRTUAL_ENV", None)
    run(
        [str(UV_IN_VENV), "sync", "--locked", "--all-packages", "--compile-bytecode", f"--python={PYTHON_IN_VENV}"],
        env=environment,
    )


# --- Running programs


def run(command: "list[str]", env: "dict[str, str] | None" = None) -> None:
    """Run a command from the root of the repository, and stop when it fails."""
    if subprocess.run(command, cwd=str(ROOT), env=env).returncode != 0:
        raise SetupError(f"a step failed, for the reason above: {' '.join(command)}")


def output_of(command: "list[str]") -> str:
    """Return what a command prints, or nothing when it cannot run."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def say(step: str) -> None:
    """Print a step when it starts."""
    print(f"setup: {step}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except SetupError as problem:
        sys.exit(f"setup: {problem}")
