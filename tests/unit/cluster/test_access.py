"""The way to the API server: which one is taken, and who we are there over time."""

import asyncio
import base64
import ssl
from math import inf
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from pilotage.cluster.credentials import access as access_module
from pilotage.cluster.credentials.access import Access, find, from_kubeconfig, in_cluster
from pilotage.cluster.credentials.credentials import Identity, Issued
from pilotage.cluster.transport.api_errors import NoAccess
from pilotage.cluster.transport.tls import Trust, tls_context

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def service_account(tmp_path: Path, server_pki: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Kubernetes mounts into a pod."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("pod-token\n")
    (folder / "ca.crt").write_bytes((server_pki / "ca.crt").read_bytes())
    monkeypatch.setattr(access_module, "SERVICE_ACCOUNT", folder)
    return folder


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Any:
    """Writes a kubeconfig with one context."""

    def write(name: str = "config", cluster: dict[str, Any] | None = None, **user: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://{path.name}:6443"} | (cluster or {})}],
            "users": [{"name": "u", "user": user}],
        }
        path.write_text(yaml.safe_dump(content))
        return path

    return write


class TestFinding:
    def test_the_named_file_comes_first(self, kubeconfig: Any, service_account: Path) -> None:
        assert find(str(kubeconfig("named")), environ=POD).server == "https://named:6443"

    def test_then_the_pod(self, kubeconfig: Any, service_account: Path, tmp_path: Path) -> None:
        environ = POD | {"KUBECONFIG": str(kubeconfig("usual"))}
        assert find(environ=environ).server == "https://10.0.0.1:443"

    @pytest.mark.parametrize("is_pod", [True, False])
    def test_then_what_kubectl_would_take(self, kubeconfig: Any, tmp_path: Path, is_pod: bool) -> None:
        # A pod without a service account has no way of its own.
        environ = (POD if is_pod else {}) | {"HOME": str(tmp_path), "KUBECONFIG": f":/nope:{kubeconfig('usual')}"}
        kubeconfig(".kube/config")
        assert find(environ=environ).server == "https://usual:6443"
        assert find(environ=environ | {"KUBECONFIG": ""}).server == "https://config:6443"

    @pytest.mark.parametrize("environ", [{}, {"KUBECONFIG": "/nope"}], ids=["nothing", "a file that is not there"])
    def test_else_it_is_said_what_to_do(self, tmp_path: Path, environ: dict[str, str]) -> None:
        with pytest.raises(NoAccess, match="name one with --kubeconfig"):
            find(environ=environ | {"HOME": str(tmp_path)})

    def test_a_named_file_that_is_not_there_is_no_reason_to_take_another(self, service_account: Path) -> None:
        with pytest.raises(NoAccess, match="cannot read the kubeconfig /nope"):
            find("/nope", environ=POD)

    def test_another_address_can_be_given(self, kubeconfig: Any, tmp_path: Path) -> None:
        path = kubeconfig(token="t")
        found = find(str(path), master="http://127.0.0.1:8080/")
        assert (found.server, found.tls, found.identity.authorization) == ("http://127.0.0.1:8080", None, "Bearer t")
        assert find(master="http://127.0.0.1:8080").identity == Identity()
        (tmp_path / "empty").write_text("")
        assert find(str(tmp_path / "empty"), master="http://127.0.0.1:8080").identity == Identity()

    @pytest.mark.parametrize(
        ("server", "parts"),
        [
            pytest.param("https://a.b:6443", ("a.b", 6443, ""), id="a name and a port"),
            pytest.param("https://a.b", ("a.b", 443, ""), id="the usual port"),
            pytest.param("https://[fd00::1]:6443/", ("fd00::1", 6443, ""), id="an address of version 6"),
            pytest.param("https://a.b/k8s/clusters/c1/", ("a.b", 443, "/k8s/clusters/c1"), id="a path in front"),
        ],
    )
    def test_addresses(self, server: str, parts: tuple[str, int, str]) -> None:
        found = from_kubeconfig(None, master=server)
        assert (found.host, found.port, found.base_path) == parts

    @pytest.mark.parametrize(
        "server",
        [
            "",
            "a:64",
            "ftp://a",
            "https://",
            "https://a:b",
            "https://u:p@a",
            "https://a?b",
            "https://a/\r\nX: y",
            "https://a b",
        ],
    )
    def test_what_is_no_address_is_refused(self, kubeconfig: Any, server: str) -> None:
        with pytest.raises(NoAccess, match="is not an address like https://host:port"):
            find(str(kubeconfig(cluster={"server": server})))


class TestPods:
    @pytest.mark.parametrize(
        ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
    )
    def test_the_service_account_is_taken(self, service_account: Path, host: str, server: str) -> None:
        found = in_cluster(POD | {"KUBERNETES_SERVICE_HOST": host})
        assert (found.server, found.host, found.identity.authorization) == (server, host, "Bearer pod-token")
        assert found.tls is not None
        assert found.tls.verify_mode == ssl.CERT_REQUIRED

    @pytest.mark.parametrize(("written", "namespace"), [(None, "default"), ("lab\n", "lab")], ids=["none", "one"])
    def test_its_namespace_is_meant(self, service_account: Path, written: str | None, namespace: str) -> None:
        if written is not None:
            (service_account / "namespace").write_text(written)
        assert in_cluster(POD).namespace == namespace

    @pytest.mark.parametrize(
        ("gone", "problem"),
        [("token", "cannot read the token file"), ("ca.crt", "cannot read the certificate authority")],
    )
    def test_half_a_service_account_is_none(self, service_account: Path, gone: str, problem: str) -> None:
        (service_account / gone).unlink()
        with pytest.raises(NoAccess, match=problem):
            in_cluster(POD)

    def test_outside_of_a_pod(self) -> None:
        with pytest.raises(NoAccess, match="this is not a pod"):
            in_cluster({})

    async def test_the_token_is_read_again_every_minute(self, service_account: Path) -> None:
        found, clock = in_cluster(POD), Clock()
        found._clock, found._stale_at = clock, 160.0
        (service_account / "token").write_text("newer")
        clock.now = 159.0
        assert not found.is_stale
        await found.renew()
        assert found.identity.authorization == "Bearer pod-token"
        clock.now = 160.0
        assert found.is_stale
        await found.renew()
        assert (found.identity.authorization, found.is_stale) == ("Bearer newer", False)

    @pytest.mark.parametrize("content", [None, "", "a\nb"], ids=["gone", "empty", "broken"])
    async def test_while_it_cannot_be_read_the_last_one_stays(self, service_account: Path, content: str | None) -> None:
        found = in_cluster(POD)
        found._stale_at = 0.0
        (service_account / "token").unlink()
        if content is not None:
            (service_account / "token").write_text(content)
        await found.renew()
        assert (found.identity.authorization, found.is_stale) == ("Bearer pod-token", False)


class TestRenewal:
    def access(self, clock: Clock, *identities: str, seconds: float = inf) -> tuple[Access, list[str]]:
        asked: list[str] = []
        left = list(identities)

        def ask() -> Issued:
            asked.append(left.pop(0) if len(left) > 1 else left[0])
            if asked[-1] == "none":
                raise NoAccess("none")
            return Issued(Identity(asked[-1]), seconds)

        return Access("http://a", Trust(), ask, clock=clock), asked

    async def test_many_that_were_refused_ask_once(self) -> None:
        clock = Clock()
        access, asked = self.access(clock, "old", "new", "newer")
        refused = access.identity
        clock.now += 5
        await asyncio.gather(*(access.renew(refused) for _ in range(20)))
        clock.now += 5
        await access.renew(refused)
        assert (access.identity.authorization, asked) == ("new", ["old", "new"])

    async def test_a_server_that_refuses_everything_does_not_make_us_ask_all_the_time(self) -> None:
        clock = Clock()
        access, asked = self.access(clock, "same")
        for _ in range(10):
            await access.renew(access.identity)
            clock.now += 0.3
        assert len(asked) == 3

    async def test_the_same_answer_is_the_same_identity(self) -> None:
        clock = Clock()
        access, _ = self.access(clock, "same")
        before = access.identity
        clock.now += 5
        await access.renew(before)
        assert access.identity is before

    async def test_a_failure_counts_only_when_we_were_refused(self) -> None:
        clock = Clock()
        access, asked = self.access(clock, "old", "none", seconds=60)
        clock.now += 60
        await access.renew()
        assert (access.identity.authorization, access.is_stale) == ("old", False)
        clock.now += 10
        assert access.is_stale
        with pytest.raises(NoAccess):
            await access.renew(access.identity)
        assert asked == ["old", "none", "none"]


class TestUsers:
    @pytest.mark.parametrize(
        ("user", "authorization"),
        [
            pytest.param({}, "", id="nobody"),
            pytest.param({"token": "abc"}, "Bearer abc", id="a token"),
            pytest.param({"tokenFile": "t", "token": "abc"}, "Bearer filed", id="a file counts before a token"),
            pytest.param({"username": "u", "password": "p"}, "Basic dTpw", id="a password"),
            pytest.param(
                {"token": "abc", "exec": {"command": "nope", "apiVersion": "x"}}, "Bearer abc",
                id="a token counts before a command",
            ),
        ],
    )  # fmt: skip
    def test_headers(self, kubeconfig: Any, tmp_path: Path, user: dict[str, Any], authorization: str) -> None:
        (tmp_path / "t").write_text("filed\n")
        assert find(str(kubeconfig(**user))).identity.authorization == authorization

    @pytest.mark.parametrize("form", ["data", "files"])
    def test_certificates(self, kubeconfig: Any, server_pki: Path, tmp_path: Path, form: str) -> None:
        crt, key = server_pki / "user.crt", server_pki / "user.key"
        if form == "data":
            user = {
                "client-certificate-data": base64.b64encode(crt.read_bytes()).decode(),
                "client-key-data": base64.b64encode(key.read_bytes()).decode(),
            }
        else:
            user = {"client-certificate": str(crt), "client-key": str(key)}
        found = find(str(kubeconfig(**user)))
        assert found.identity.certificate == crt.read_bytes() + b"\n" + key.read_bytes()
        assert found._stale_at == inf if form == "data" else found._stale_at < inf

    def test_a_command(self, kubeconfig: Any, tmp_path: Path) -> None:
        script = tmp_path / "login"
        script.write_text(
            '#!/bin/sh\necho "{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"ExecCredential\\",'
            '\\"status\\":{\\"token\\":\\"t-$1\\"}}"\n'
        )
        script.chmod(0o755)
        plugin = {"command": "./login", "args": ["x"], "apiVersion": "client.authentication.k8s.io/v1"}
        assert find(str(kubeconfig(exec=plugin))).identity.authorization == "Bearer t-x"

    @pytest.mark.parametrize(
        ("cluster", "user", "problem"),
        [
            pytest.param({"proxy-url": "http://p"}, {}, "proxy-url is not supported", id="a proxy"),
            pytest.param({"certificate-authority-data": "eA=="}, {}, "contains no PEM certificates", id="no authority"),
            pytest.param(
                {"insecure-skip-tls-verify": True, "certificate-authority-data": "eA=="}, {}, "contradict each other",
                id="trust and no trust",
            ),
            pytest.param({}, {"auth-provider": {"name": "gcp"}}, "auth-provider is not", id="an old provider"),
            pytest.param({}, {"as": "jane"}, "impersonation .* is not supported", id="impersonation"),
            pytest.param({}, {"token": "t", "username": "u"}, "both a token and a password", id="two ways to log in"),
            pytest.param({}, {"token": "a b"}, "contains spaces or line breaks", id="a token with a blank"),
            pytest.param(
                {}, {"client-certificate-data": "eA==", "client-key-data": "eA=="}, "must be PEM, belong together",
                id="no certificate",
            ),
            pytest.param({}, {"exec": {"command": "x", "apiVersion": "y"}}, "'y' is not", id="an old command"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_served_is_refused(
        self, kubeconfig: Any, cluster: dict[str, Any], user: dict[str, Any], problem: str
    ) -> None:
        path = kubeconfig(cluster=cluster, **user)
        with pytest.raises(NoAccess, match=problem) as caught:
            find(str(path))
        assert str(path) in str(caught.value)

    def test_a_secret_is_not_printed(self, kubeconfig: Any) -> None:
        assert "hidden" not in repr(find(str(kubeconfig(token="hidden"))).identity)


class TestTrust:
    def test_certificates_are_checked(self, server_pki: Path) -> None:
        context = tls_context(Trust((server_pki / "ca.crt").read_bytes()))
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
        assert len(context.get_ca_certs()) == 1

    def test_unless_that_was_asked_for(self) -> None:
        context = tls_context(Trust(is_insecure=True))
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)

    def test_the_key_leaves_no_file_behind(
        self, server_pki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        pem = (server_pki / "user.crt").read_bytes() + (server_pki / "user.key").read_bytes()
        tls_context(Trust(), pem)
        with pytest.raises(NoAccess):
            tls_context(Trust(), b"broken")
        assert list(tmp_path.iterdir()) == []

    def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(self, server_pki: Path) -> None:
        key = serialization.load_pem_private_key((server_pki / "user.key").read_bytes(), None)
        secret = serialization.BestAvailableEncryption(b"secret")
        form = serialization.PrivateFormat.PKCS8
        locked = key.private_bytes(serialization.Encoding.PEM, form, secret)
        with pytest.raises(NoAccess, match="have no password"):
            tls_context(Trust(), (server_pki / "user.crt").read_bytes() + locked)

    def test_a_folder_that_cannot_be_written_to(
        self, server_pki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nope"))
        with pytest.raises(NoAccess, match=r"set \$TMPDIR to a writable folder"):
            tls_context(Trust(), (server_pki / "user.crt").read_bytes())
