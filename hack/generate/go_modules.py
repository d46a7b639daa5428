"""Pins another Kubernetes version: `python -m generate.go_modules 1.38.0` writes hack/go/kubernetes-1.38.0.

The published go.mod of Kubernetes points its parts to folders of its own repository; ours points them to the parts as
published, which is what makes `go build k8s.io/kubernetes/cmd/...` work from modules alone.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from localcluster.binaries import MODULES
from localcluster.errors import Problem
from localcluster.go_toolchain import Go, find_go

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")


def pin(version: str) -> Path:
    """Write go.mod and go.sum for one Kubernetes version."""
    if not re.fullmatch(r"1\.\d+\.\d+", version):
        raise Problem(f"{version!r} is not a Kubernetes version; write for example 1.37.1")
    folder = MODULES / f"kubernetes-{version}"
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text("module pilotage.dev/hack/kubernetes\n")
    go = find_go((1, 26))
    published = _published_go_mod(go, folder, version)
    parts = re.findall(r"(k8s\.io/[a-z-]+) => \./staging", published)
    release = re.search(r"^go (\S+)", published, re.MULTILINE)
    (folder / "go.mod").write_text(_go_mod(version, release[1] if release else "1.26.0", parts))
    _run(go, folder, "get", "-tool", *(f"k8s.io/kubernetes/cmd/{program}@v{version}" for program in PROGRAMS))
    return folder


def _published_go_mod(go: Go, folder: Path, version: str) -> str:
    answer = json.loads(_run(go, folder, "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"))
    return Path(answer["GoMod"]).read_text()


def _go_mod(version: str, release: str, parts: list[str]) -> str:
    part_version = f"v0.{version.removeprefix('1.')}"
    replaced = "\n".join(f"\t{part} => {part} {part_version}" for part in sorted(set(parts)))
    return f"module pilotage.dev/hack/kubernetes\n\ngo {release}\n\nreplace (\n{replaced}\n)\n"


def _run(go: Go, folder: Path, *words: str) -> str:
    environment = go.environment() | {"GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        [go.command, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Problem(f"go {' '.join(words)}: {done.stderr.strip()[-400:]}")
    return done.stdout


if __name__ == "__main__":
    try:
        print(pin(sys.argv[1] if len(sys.argv) > 1 else ""))
    except Problem as problem:
        raise SystemExit(f"ERROR: {problem}") from problem
