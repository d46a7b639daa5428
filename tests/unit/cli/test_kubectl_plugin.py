"""One program under two names: how it calls itself, what its help needs, and what completes its words."""

import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from kit.asked_cluster import AskedCluster
from pilotage.cli import candidates
from pilotage.cli.group import COMMANDS
from pilotage.cli.printing import amount, share, span
from pilotage.cli.program import program_name

Pilotage = Callable[..., Result]
SMALL = sorted(name for name, listed in COMMANDS.items() if listed.small)


@pytest.mark.parametrize(
    ("called", "name"),
    [
        pytest.param("/usr/bin/pilotage", "pilotage", id="by its own name"),
        pytest.param("/home/me/.krew/bin/kubectl-pilotage", "kubectl pilotage", id="by kubectl"),
        pytest.param("kubectl_pilotage", "kubectl pilotage", id="as krew writes dashes"),
        pytest.param("kubectl-pilotage.exe", "kubectl pilotage", id="with an ending"),
        pytest.param("-c", "pilotage", id="by nothing in particular"),
    ],
)
def test_what_it_was_called_as_decides_what_it_calls_itself(called: str, name: str) -> None:
    assert program_name(called) == name


@pytest.mark.parametrize("verb", [[], *([each] for each in SMALL)], ids=lambda words: " ".join(words) or "the program")
def test_help_and_examples_have_the_name_that_was_typed(monkeypatch: pytest.MonkeyPatch, verb: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/kubectl-pilotage"])
    text = CliRunner().invoke(__import__("pilotage.cli").cli.main, [*verb, "--help"], prog_name=program_name()).stdout
    assert f"Usage: kubectl {' '.join(['pilotage', *verb])}" in text
    if verb:
        assert f"  kubectl pilotage {verb[0]}" in text.partition("Examples:")[2]
        assert "  pilotage " not in text


def test_a_verb_that_was_mistyped(pilotage: Pilotage) -> None:
    result = pilotage("quee")
    assert result.exit_code == 2
    assert "No such command 'quee'. Did you mean 'queue'?" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "kubectl"])
def test_every_shell_gets_a_script(pilotage: Pilotage, shell: str) -> None:
    text = pilotage("completion", shell).stdout
    assert ("exec kubectl-pilotage __complete" if shell == "kubectl" else "_PILOTAGE_COMPLETE") in text


class TestCandidates:
    @pytest.fixture(autouse=True)
    def patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(candidates, "PATIENCE", 60.0)  # this machine may be busy

    async def offered(self, cluster: AskedCluster, *words: str) -> list[str]:
        lines = (await cluster.run("__complete", *words)).stdout.splitlines()
        assert lines[-1] in (":0", ":4")
        return [line.partition("\t")[0] for line in lines[:-1]]

    @pytest.mark.parametrize(
        ("words", "offered"),
        [
            pytest.param(["sta"], ["status"], id="verbs"),
            pytest.param(["queue", "--by", "n"], ["namespace"], id="words of a flag"),
            pytest.param(["queue", "-n", "s"], ["shop"], id="namespaces"),
            pytest.param(["explain", "-n", "shop", "w"], ["web-1"], id="pods of a namespace"),
            pytest.param(["explain", "n"], ["new"], id="pods of the context's namespace"),
            pytest.param(["diff", "b"], ["batch"], id="profiles"),
            pytest.param(["explain", "x", "--why-not", "n"], ["n1"], id="nodes"),
            pytest.param(["queue", "--context", "t"], ["there"], id="contexts"),
        ],
    )
    async def test_what_can_come_next(self, cluster: AskedCluster, words: list[str], offered: list[str]) -> None:
        cluster.pod("web-1", "shop")
        cluster.pod("new")
        cluster.profile("batch")
        for kind, name in (("namespaces", "shop"), ("nodes", "n1")):
            cluster.api.put(kind, {"metadata": {"name": name}})
        assert await self.offered(cluster, *words) == offered

    async def test_a_cluster_that_does_not_answer_offers_nothing(self, cluster: AskedCluster) -> None:
        cluster.api.refusals["/api/v1/namespaces"] = 403
        assert await self.offered(cluster, "queue", "-n", "s") == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (3725, "1h2m"), (7200, "2h"), (90_000, "1d1h"), (86_460, "1d"), (-5, "0s")],
)
def test_ages_are_as_kubectl_writes_them(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (1500, "m", "1500m"),
        (2000, "m", "2"),
        (3 << 30, "bytes", "3Gi"),
        (int(3.5 * (1 << 30)), "bytes", "3.5Gi"),
        (7, "pieces", "7"),
    ],
)
def test_amounts_are_as_kubernetes_writes_them(number: float, unit: str, text: str) -> None:
    assert amount(number, unit) == text


def test_of_nothing_no_share_is_told() -> None:
    assert (share(1, 4), share(0, 0)) == ("25%", "-")
