"""One configuration file, two readers: the real kube-scheduler, which never reaches a cluster, and our own."""

import json
import re
import subprocess
from ast import literal_eval
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from localcluster.binaries import DEFAULT_KUBERNETES, kubernetes
from localcluster.build import ensure
from pilotage.config.documents import documents
from pilotage.config.expansion import Expansion
from pilotage.config.faults import InvalidConfiguration
from pilotage.config.load import effective, load
from pilotage.plugins.catalogue import PluginCatalogue, built_in

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
JSON_HEAD = '{"apiVersion": "kubescheduler.config.k8s.io/v1",\n\t"kind": "KubeSchedulerConfiguration"'

_KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere}}]
current-context: nowhere
"""


@dataclass(frozen=True)
class Answer:
    """What a scheduler makes of a configuration: a complaint, or what results and which plugins run where."""

    complaint: str | None
    effective: Any = None
    plugins: Any = None  # for each profile: point -> [(plugin, weight)]


def write(folder: Path, body: str) -> None:
    """Write the file; CLIENT and JSONCLIENT in it become the address of a cluster that is not there."""
    (folder / "kubeconfig").write_text(_KUBECONFIG)
    client = f"kubeconfig: {folder / 'kubeconfig'}"
    body = body.replace("JSONCLIENT", f'"kubeconfig": "{folder / "kubeconfig"}"')
    alone = body.startswith("{") or "CLIENT" in body
    text = body.replace("CLIENT", client) if alone else f"{body}clientConnection: {{{client}}}\n"
    (folder / "config.yaml").write_text(text)


def ask_for_all(folder: Path) -> Answer:
    """Let the real one answer, and say what it would run."""
    return ask(folder, "--write-config-to", str(folder / "written"))


def ask(folder: Path, *options: str) -> Answer:
    """Let the real one answer with these options."""
    command = [str(_kube_scheduler()), "--config", str(folder / "config.yaml"), "--secure-port=0", "-v=2", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return Answer(_complaint(done.stderr))
    written = next(documents((folder / "written").read_bytes(), "written")).value
    lines = re.findall(r'"the scheduler starts to work with those plugins" Plugins=(.*)', done.stderr)
    return Answer(None, written, [_plugins(json.loads(line)) for line in lines])


def ours(folder: Path) -> Answer:
    """Answer with our own configuration and plugins."""
    try:
        loaded = load(folder / "config.yaml", catalogue())
    except InvalidConfiguration as refusal:
        return Answer(refusal.upstream)
    return Answer(None, effective(loaded.config), [_running(expansion) for expansion in loaded.expansions])


@cache
def catalogue() -> PluginCatalogue:
    """Return our plugins."""
    return built_in()


@cache
def _kube_scheduler() -> Path:
    # Other versions have other plugins and other words; this is the one that we follow.
    return ensure(kubernetes(DEFAULT_KUBERNETES)) / "kube-scheduler"


def _complaint(log: str) -> str:
    line = re.search(r'"command failed" err=(".*")$', log, re.MULTILINE)
    if line:
        return str(literal_eval(line[1]))  # Go's escapes are Python's too
    lines = re.search(r'"command failed" err=<\n(.*?)\n >$', log, re.MULTILINE | re.DOTALL)
    assert lines, log
    return "\n".join(part.removeprefix("\t") for part in lines[1].split("\n"))


def _plugins(logged: dict[str, Any]) -> dict[str, list[tuple[str, int]]]:
    sets = {point[0].lower() + point[1:]: plugin_set["Enabled"] for point, plugin_set in logged.items()}
    return {
        point: [(plugin["Name"], plugin["Weight"]) for plugin in enabled] for point, enabled in sets.items() if enabled
    }


def _running(expansion: Expansion) -> dict[str, list[tuple[str, int]]]:
    return {
        point.value: [(name, expansion.weights.get(point, {}).get(name, 0)) for name in names]
        for point, names in expansion.points.items()
        if names
    }
