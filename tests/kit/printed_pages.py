"""What a test does with each printed command: it is run, unless a line here says why it cannot be.

A command that no line speaks of is run, on a control plane with fake nodes; a new one is therefore run or listed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kit.printed_commands import Printed, commands_of, pages
from localcluster.paths import REPOSITORY


class Where(Enum):
    """Where a command is run."""

    FAKE_NODES = "on a control plane with fake nodes, and on real ones"
    REAL_NODES = "on real nodes"
    NOWHERE = "not by a test of pages"


@dataclass(frozen=True)
class Unrun:
    """Commands that begin with a pattern, where they are run instead, and why."""

    pattern: str
    where: Where
    reason: str
    page: str = ""  # any

    def speaks_of(self, printed: Printed) -> bool:
        """Tell whether it is about a command."""
        return self.page in ("", printed.page) and re.match(self.pattern, printed.command) is not None


UNRUN: Sequence[Unrun] = (
    Unrun(r"make demo$", Where.NOWHERE, "brings up a cluster of its own; tests/e2e plays what it shows"),
    Unrun(r"make (test|test-all|test-unit|lint)$", Where.NOWHERE, "this is part of it"),
    Unrun(r"make (setup|format|generate)$", Where.NOWHERE, "tests run in what it made, and lint compares the files"),
    Unrun(r"make images", Where.NOWHERE, "takes minutes and a registry; `make test` builds images before its tests"),
    Unrun(r"PYTHONPATH=hack python -m images", Where.NOWHERE, "takes minutes; tests/unit/images has the options"),
    Unrun(r"make oracle", Where.NOWHERE, "takes an hour; a part of it is tests/oracle"),
    Unrun(r"make bench", Where.NOWHERE, "figures mean nothing beside other tests; tests/unit/bench has the options"),
    Unrun(r"make hostile", Where.NOWHERE, "takes an hour; a part of it is tests/unit/hostile"),
    Unrun(r"hack/kind load", Where.NOWHERE, "loads an image onto the nodes of `make demo`; tests/e2e loads its own"),
    Unrun(r"PYTHONPATH=hack .venv/bin/python -m auditor", Where.NOWHERE, "every test on a cluster runs it"),
    Unrun(
        r"pilotage explain (?!shop/)",
        Where.NOWHERE,
        "each shows another cluster than the first; tests/unit/cli/test_explain.py has the like of each",
        page="docs/explain.md",
    ),
    Unrun(
        r"kubectl pilotage|kubectl krew",
        Where.NOWHERE,
        "asks a scheduler at the port of a pod, which fake nodes have not; test_live_kubectl_plugin.py asks one",
        page="docs/kubectl.md",
    ),
    Unrun(
        r"kubectl create rolebinding ask",
        Where.NOWHERE,
        "needs a release, and a user; tests/chart/test_api.py has the role, test_live_kubectl_plugin.py such a user",
        page="docs/kubectl.md",
    ),
    Unrun(
        r"patch=|kubectl patch deployment web",
        Where.NOWHERE,
        "needs a Deployment that waits; test_live_remedies.py applies what is shown",
        page="docs/explain.md",
    ),
    Unrun(
        r"token=|kubectl -n pilotage port-forward|curl ",
        Where.NOWHERE,
        "needs a scheduler that listens; test_live_api.py asks one with such a token",
        page="docs/api.md",
    ),
    Unrun(r"helm test ", Where.REAL_NODES, "its pod must come to an end, which on a fake node it does not"),
    Unrun(r"kubectl -n pilotage port-forward", Where.REAL_NODES, "needs a pod that listens"),
    Unrun(r"curl .*\$token", Where.REAL_NODES, "needs a pod that listens"),
)
# These go on until somebody stops them, and say this as soon as they work.
ENDLESS: Mapping[str, str] = {
    ".venv/bin/pilotage run ": "scheduling pods of",
    ".venv/bin/pilotage extender ": "127.0.0.1:8888",
    "kubectl get schedprof --watch": "NAME",
    "kubectl -n pilotage port-forward": "Forwarding from",
}
# Pages that are played from the first to the last command on real nodes, too.
ON_REAL_NODES = tuple(
    REPOSITORY / name
    for name in (
        "README.md",
        "docs/install.md",
        "docs/operations.md",
        "docs/migrate-from-scheduler-plugins.md",
        "docs/run.md",
    )
)
# These have nodes and pods of their own around them.
PLUGIN_PAGES = "docs/plugins/"


def place_of(printed: Printed) -> Where:
    """Return where a command is run."""
    return next((each.where for each in UNRUN if each.speaks_of(printed)), Where.FAKE_NODES)


def signal_of(command: str) -> str:
    """Return what a command says that goes on for ever; empty for one that ends."""
    return next((says for start, says in ENDLESS.items() if command.startswith(start)), "")


def pages_to_run(*places: Where) -> list[Path]:
    """Return the pages, without those of plugins, that have commands to run at one of these places."""
    return [page for page in pages() if not is_of_a_plugin(page) and to_run(page, *places)]


def to_run(page: Path, *places: Where) -> list[Printed]:
    """Return the commands of a page that are run at one of these places."""
    return [printed for printed in commands_of(page) if place_of(printed) in places]


def is_of_a_plugin(page: Path) -> bool:
    """Tell whether a page is that of one plugin."""
    return str(page.relative_to(REPOSITORY)).startswith(PLUGIN_PAGES)
