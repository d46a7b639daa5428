from pathlib import Path
from typing import Any

import pytest
import yaml

from auditor.kubeconfig import BadKubeconfig, access_of


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        **more,
    }


def written(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_address_of_the_current_context(tmp_path: Path) -> None:
    assert access_of(written(tmp_path, config())).server == "http://127.0.0.1:1"


def test_a_token(tmp_path: Path) -> None:
    access = access_of(written(tmp_path, config(user={"token": "t"})))
    assert access.headers == {"Authorization": "Bearer t"}


def test_a_token_in_a_file_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    access = access_of(written(tmp_path, config(user={"tokenFile": "token"})))
    assert access.headers == {"Authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param({}, "there is no entry None under contexts", id="it is empty"),
        pytest.param(config() | {"current-context": "there"}, "no entry 'there' under contexts", id="no such context"),
        pytest.param(config(clusters=[]), "no entry 'c' under clusters", id="no such cluster"),
        pytest.param(config(user={"exec": {}}), "use a client certificate or a token", id="it logs in by a command"),
        pytest.param(
            config(cluster={"server": "https://x", "certificate-authority": "gone.crt"}),
            "name a file that kubectl accepts",
            id="a certificate is missing",
        ),
        pytest.param(
            config(cluster={"server": "https://x", "certificate-authority-data": "bm8="}),
            "name a file that kubectl accepts",
            id="a certificate is none",
        ),
    ],
)
def test_it_says_what_is_wrong_when(content: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(BadKubeconfig, match=message) as caught:
        access_of(written(tmp_path, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [": : :", "[", "just text", "\0"])
def test_a_file_that_is_no_kubeconfig(text: str, tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(text)
    with pytest.raises(BadKubeconfig):
        access_of(tmp_path / "kubeconfig")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadKubeconfig, match=r"cannot read the kubeconfig .*nowhere"):
        access_of(tmp_path / "nowhere")
