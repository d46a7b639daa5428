"""Who the scheduler is shown: what a kubeconfig says about its user."""

import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from pilotage.cluster.kubectl.identity import Identity, identity_of
from pilotage.cluster.kubectl.programme import failure
from pilotage.cluster.kubectl.refusals import NotReached, Refused

PRINTS = "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']); print(json.dumps({'status': %s}))"


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def command(status: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", PRINTS % status], "apiVersion": "v1", "env": [{"name": "A"}]}


@pytest.mark.parametrize(
    ("user", "identity"),
    [
        pytest.param({"token": "abc"}, Identity("Bearer abc"), id="a token"),
        pytest.param(
            {"client-certificate-data": coded("cert"), "client-key-data": coded("key")},
            Identity(certificate=b"cert\nkey"),
            id="a certificate",
        ),
        pytest.param({"exec": command("{'token': info['kind']}")}, Identity("Bearer ExecCredential"), id="a command"),
        pytest.param(
            {"exec": command("{'clientCertificateData': 'c', 'clientKeyData': 'k'}")},
            Identity(certificate=b"c\nk\n"),
            id="a command with a certificate",
        ),
    ],
)
async def test_the_user_of_a_kubeconfig(user: dict[str, Any], identity: Identity) -> None:
    assert await identity_of(user, {}) == identity


async def test_a_token_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    assert await identity_of({"tokenFile": str(tmp_path / "token")}, {}) == Identity("Bearer abc")


@pytest.mark.parametrize(
    ("user", "said"),
    [
        pytest.param({}, "has no credentials that the scheduler accepts", id="nobody"),
        pytest.param({"username": "a", "password": "b"}, "use --token-from", id="a password"),
        pytest.param({"token": "a\r\nX: y"}, "contains spaces or line breaks", id="a token with a header in it"),
        pytest.param({"tokenFile": "/nowhere"}, "cannot read the token file /nowhere", id="a file that is not there"),
        pytest.param({"exec": {"command": "/nowhere/x"}}, "the exec command x returned no", id="a strange command"),
        pytest.param({"exec": command("1/0")}, "run it by hand", id="a command that fails"),
    ],
)
async def test_what_cannot_be_shown(user: dict[str, Any], said: str) -> None:
    with pytest.raises(NotReached, match=said):
        await identity_of(user, {})


def test_an_identity_does_not_show_itself() -> None:
    assert "abc" not in repr(Identity("Bearer abc"))


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ('Error from server (Forbidden): pods is forbidden: User "jane" cannot list', 403),
        ("warning: x\nError from server (NotFound): the server could not find it", 404),
        ("Error from server: something", 500),
    ],
)
def test_a_refusal_of_the_server_is_told_from_kubectls_words(said: str, status: int) -> None:
    found = failure(said)
    assert isinstance(found, Refused)
    assert found.status == status


def test_whatever_else_kubectl_says_is_quoted() -> None:
    found = failure("error: You must be logged in\n")
    assert isinstance(found, NotReached)
    assert str(found) == "kubectl failed: You must be logged in"
