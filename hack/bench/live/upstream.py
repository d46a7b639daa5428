"""Where upstream's own workloads are: inside the Go module that kube-scheduler is built from."""

import json
import subprocess
from pathlib import Path

from localcluster.binaries import DEFAULT_KUBERNETES, kubernetes
from localcluster.errors import Problem
from localcluster.go_toolchain import find_go, minimum_of
from localcluster.progress import Step

WORKLOADS = Path("test/integration/scheduler_perf")
CONFIGURATION = "performance-config.yaml"


def configurations() -> list[Path]:
    """Every file of upstream that describes workloads, downloaded now if this machine never had it."""
    folder = _module() / WORKLOADS
    found = sorted(folder.rglob(CONFIGURATION))
    if not found:
        raise Problem(f"{folder} contains no {CONFIGURATION}; is the Go module complete? Try: go clean -modcache")
    return found


def _module() -> Path:
    tool = kubernetes(DEFAULT_KUBERNETES)
    go = find_go(minimum_of(tool.go_mod))
    command = [go.command, "mod", "download", "-json", tool.module]
    with Step(f"looking for the workloads of {tool.module} {tool.version}"):
        done = subprocess.run(
            command, cwd=tool.folder, env=go.environment(), capture_output=True, text=True, check=False
        )
    try:
        return Path(json.loads(done.stdout)["Dir"])
    except (ValueError, KeyError) as error:
        said = (done.stderr or done.stdout).strip()[-400:]
        raise Problem(f"{tool.module} cannot be fetched; is the Go module proxy reachable? Go: {said}") from error
