"""Runs a system command that must succeed."""

import subprocess

from localcluster.errors import Problem
from localcluster.packages import SEARCH_PATH


def run(*command: str) -> str:
    """What the command printed; a Problem with its own words if it failed."""
    done = subprocess.run(command, env={"PATH": SEARCH_PATH}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Problem(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout
