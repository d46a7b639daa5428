"""Credentials from a command, and what is said when it gives none."""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from pilotage.cluster.credentials.exec_credentials import VERSIONS, ExecPlugin, Variable, run
from pilotage.cluster.transport.api_errors import NoAccess

V1, V1BETA1 = VERSIONS


def credential(version: str = V1, **status: Any) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


@pytest.fixture
def command(tmp_path: Path) -> Any:
    """Makes a program of a shell script."""

    def make(script: str) -> str:
        path = tmp_path / "login"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return str(path)

    return make


def printing(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_token(command: Any, version: str) -> None:
    issued = run(ExecPlugin(command(printing(credential(version, token="abc"))), version), {})
    assert (issued.identity.authorization, issued.identity.certificate, issued.seconds) == ("Bearer abc", b"", inf)


def test_a_certificate(command: Any) -> None:
    output = credential(clientCertificateData="CERT", clientKeyData="KEY")
    issued = run(ExecPlugin(command(printing(output)), V1), {})
    assert (issued.identity.authorization, issued.identity.certificate) == ("", b"CERT\nKEY\n")


@pytest.mark.parametrize(
    ("when", "least", "most"),
    [
        pytest.param("9999-01-01T00:00:00Z", 1e9, inf, id="in the future"),
        pytest.param("9999-01-01T00:00:00+02:00", 1e9, inf, id="in another zone"),
        pytest.param(
            "2001-01-01T00:00:00Z", 1, 1, id="long ago: good for a second, so that it is not run all the time"
        ),
    ],
)
def test_how_long_they_are_good(command: Any, when: str, least: float, most: float) -> None:
    issued = run(ExecPlugin(command(printing(credential(token="abc", expirationTimestamp=when))), V1), {})
    assert least <= issued.seconds <= most
    assert issued.seconds != inf


def test_what_the_command_is_told(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "yes")
    seen = tmp_path / "seen"
    script = f'printf "%s\\n" "$@" "$EXTRA" "$INHERITED" "$KUBERNETES_EXEC_INFO" > {seen}\n'
    plugin = ExecPlugin(
        command(script + printing(credential(token="abc"))), V1, ("-x", "a b"), (Variable("EXTRA", "1"),),
        provide_cluster_info=True,
    )  # fmt: skip
    run(plugin, {"server": "https://a"})
    *words, info = seen.read_text().splitlines()
    assert words == ["-x", "a b", "1", "yes"]
    spec = {"interactive": False, "cluster": {"server": "https://a"}}
    assert json.loads(info) == {"apiVersion": V1, "kind": "ExecCredential", "spec": spec}


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("echo no luck >&2; exit 3", "failed with exit code 3 and printed: no luck", id="it fails"),
        pytest.param("echo hello", "printed no ExecCredential", id="it prints something else"),
        pytest.param("head -c 2000000 /dev/zero", "printed more than", id="it prints far too much"),
        pytest.param(printing(credential(V1BETA1, token="x")), "instead of an ExecCredential", id="another version"),
        pytest.param(printing(credential(token="x").replace("ExecCredential", "Pod")), "v1 Pod", id="another kind"),
        pytest.param(printing(credential()), "neither a token nor a client certificate", id="it prints neither"),
        pytest.param(printing(credential(clientKeyData="K")), "neither a token nor", id="it prints half"),
        pytest.param(
            printing(credential(token="a\nb")), "contains spaces or line breaks", id="it breaks out of the header"
        ),
    ],
)
def test_what_goes_wrong_is_explained(command: Any, script: str, problem: str) -> None:
    with pytest.raises(NoAccess, match=problem) as caught:
        run(ExecPlugin(command(script), V1), {})
    assert "login" in str(caught.value)


def test_a_command_that_is_not_there_names_how_to_get_it() -> None:
    with pytest.raises(NoAccess, match="was not found, or is not executable; install it with brew"):
        run(ExecPlugin("no-such-login", V1, install_hint="install it with brew\n"), {})


def test_a_command_that_does_not_end(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilotage.cluster.credentials.exec_credentials.LONGEST_RUN", 0.1)
    with pytest.raises(NoAccess, match="did not finish within"):
        run(ExecPlugin(command("exec sleep 30"), V1), {})


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        pytest.param(
            ExecPlugin("x", "client.authentication.k8s.io/v1alpha1"), "v1alpha1' is not supported", id="too old"
        ),
        pytest.param(ExecPlugin("x"), "'' is not supported", id="no version"),
        pytest.param(ExecPlugin("x", V1, interactive_mode="Always"), "requires a terminal", id="it wants to talk"),
    ],
)
def test_what_cannot_work_is_refused_before(plugin: ExecPlugin, problem: str) -> None:
    with pytest.raises(NoAccess, match=problem):
        plugin.check()
