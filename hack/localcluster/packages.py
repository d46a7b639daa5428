"""Programs that come from the distribution: installed where we may, named where we may not."""

import os
import shutil
import subprocess
from collections.abc import Mapping

from localcluster.errors import Problem
from localcluster.progress import say

# Where distributions keep system programs and network plugins, outside a user's PATH.
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/lib/cni", "/usr/libexec/cni", "/opt/cni/bin")
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS])


def find_program(name: str) -> str | None:
    """The path of a program, looked for in the system folders too."""
    return shutil.which(name, path=SEARCH_PATH)


def ensure_packages(package_of: Mapping[str, str], why: str) -> None:
    """See that each program (key) is there, installing its Debian package (value) if this machine lets us."""
    missing = sorted({package for program, package in package_of.items() if not find_program(program)})
    if not missing:
        return
    command = f"apt-get install --no-install-recommends {' '.join(missing)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Problem(f"{why} needs {', '.join(missing)}; install with: {command}")
    say(f"installing Debian packages: {' '.join(missing)}")
    _apt_get("update", "-qq", why=command)
    _apt_get("install", "-qq", "-y", "--no-install-recommends", *missing, why=command)
    if still := sorted(program for program in package_of if not find_program(program)):
        raise Problem(f"{why} needs {', '.join(still)}, not found even after: {command}")


def _apt_get(*args: str, why: str) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", *args], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise Problem(f"apt-get {args[0]} failed ({' '.join(last)}); run by hand: apt-get update && {why}")
