"""Kubeconfig files: merged, with paths of their own, and refused with what to do."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from pilotage.cluster.credentials import kubeconfig
from pilotage.cluster.transport.api_errors import NoAccess


def config(
    name: str = "a", *, server: str = "https://a:6443", current: str | None = None, **user: Any
) -> dict[str, Any]:
    """One cluster, one user and a context, all of one name."""
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": name if current is None else current,
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writes kubeconfigs, each in a folder of its own."""

    def put(content: Any, folder: str = "one") -> Path:
        path = tmp_path / folder / "config"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return put


def test_the_current_context_is_taken_and_another_can_be_named(write: Any) -> None:
    both = config("a", token="ta")
    for section, entries in config("b", server="https://b:6443", token="tb").items():
        both[section] = both[section] + entries if isinstance(entries, list) else both[section]
    found = kubeconfig.read([write(both)])
    assert [part.token for part in (found.choose()[1], found.choose("b")[1])] == ["ta", "tb"]
    assert found.choose("b")[0].server == "https://b:6443"


def test_of_several_files_the_first_that_names_something_decides(write: Any) -> None:
    first, second = config("a", current="", token="first"), config("a", server="https://other", token="second")
    second["users"].append({"name": "extra", "user": {"token": "extra"}})
    found = kubeconfig.read([write(first), write(second, "two")])
    cluster, user = found.choose()
    assert (found.current_context, cluster.server, user.token) == ("a", "https://a:6443", "first")
    assert found.users["extra"].token == "extra"


def test_paths_start_from_the_file_that_names_them(write: Any, tmp_path: Path) -> None:
    content = config("a", **{"client-certificate": "c.crt", "client-key": "/k/c.key", "tokenFile": "../t"})
    content["clusters"][0]["cluster"]["certificate-authority"] = "pki/ca.crt"
    cluster, user = kubeconfig.read([write(content)]).choose()
    folder = tmp_path / "one"
    assert cluster.certificate_authority == f"{folder}/pki/ca.crt"
    assert (user.client_certificate, user.client_key, user.token_file) == (
        f"{folder}/c.crt",
        "/k/c.key",
        f"{folder}/../t",
    )


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        pytest.param("aws", "aws", id="a bare name stays"),
        pytest.param("./bin/login", "{folder}/bin/login", id="a path starts from the file"),
        pytest.param("/usr/bin/login", "/usr/bin/login", id="a whole path stays"),
    ],
)
def test_where_a_command_is(write: Any, tmp_path: Path, command: str, becomes: str) -> None:
    plugin = {"command": command, "apiVersion": "client.authentication.k8s.io/v1"}
    _, user = kubeconfig.read([write(config("a", exec=plugin))]).choose()
    assert user.exec is not None
    assert user.exec.command == becomes.format(folder=tmp_path / "one")


def test_data_counts_before_a_file(write: Any) -> None:
    content = config("a", **{"client-key": "gone", "client-key-data": base64.b64encode(b"KEY").decode()})
    content["users"][0]["user"]["client-certificate-data"] = base64.b64encode(b"CERT").decode() + "\n"
    _, user = kubeconfig.read([write(content)]).choose()
    assert user.certificate() == b"CERT\nKEY"


def test_nothing_may_be_written_as_null(write: Any) -> None:
    content = config("a", token=None) | {"preferences": None}
    content["clusters"][0]["cluster"]["extensions"] = None
    assert kubeconfig.read([write(content)]).choose()[1].token == ""


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("a: [", "this is not a kubeconfig", id="no YAML"),
        pytest.param("[]", r"Expected `object`, got `array`", id="a list"),
        pytest.param("- a", "this is not a kubeconfig", id="another list"),
        pytest.param(config("a", token=5), r"Expected `str`, got `int` - at `\$.users\[0\].user.token`", id="a number"),
        pytest.param({"kind": "Pod"}, "this is a Pod, not a kubeconfig", id="another kind"),
        pytest.param("a: &x b\nc: *x", "anchors and aliases are not supported", id="an alias"),
        pytest.param("[" * 100_000, "nested deeper than 50 levels", id="an endless nest"),
        pytest.param("!!python/object/apply:os.system ['true']", "this is not a kubeconfig", id="code"),
        pytest.param("#" * (1 << 20) + "\na: b", "larger than", id="far too large"),
        pytest.param("", "no context is chosen; run kubectl config use-context NAME", id="empty"),
        pytest.param(config("a", current="b"), "there is no context 'b'; there is a", id="no such context"),
        pytest.param(
            config("a") | {"clusters": []}, "names the cluster 'a', which does not exist", id="no such cluster"
        ),
        pytest.param(config("a") | {"users": None}, "names the user 'a', which does not exist", id="no such user"),
        pytest.param("\x00", "this is not a kubeconfig", id="no text"),
    ],
)
def test_what_cannot_be_used_is_explained(write: Any, content: Any, problem: str) -> None:
    path = write(content)
    with pytest.raises(NoAccess, match=problem) as caught:
        kubeconfig.read([path]).choose()
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoAccess, match=r"cannot read the kubeconfig .*/nope: No such file"):
        kubeconfig.read([tmp_path / "nope"])


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        pytest.param({"client-key-data": "?"}, "client-key-data is not valid base64", id="no base64"),
        pytest.param({"client-key-data": "S0VZ"}, "a key its certificate", id="a key alone"),
        pytest.param(
            {"client-certificate": "gone", "client-key": "gone"}, "cannot read the client-certificate", id="gone"
        ),
    ],
)
def test_certificates_that_are_not_there(write: Any, user: dict[str, str], problem: str) -> None:
    _, found = kubeconfig.read([write(config("a", **user))]).choose()
    with pytest.raises(NoAccess, match=problem):
        found.certificate()
