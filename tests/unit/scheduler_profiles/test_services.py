"""Services that a profile names are judged: whom it has the scheduler ask, and which credentials it would show them."""

from typing import Any

import pytest

from pilotage.model.outside_services import OutsideRules
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.load.target_load_packing import TargetLoadPacking
from pilotage.scheduler_profiles.checking import checked
from pilotage.scheduler_profiles.judge import Judge
from pilotage.scheduler_profiles.resource import API_VERSION, KIND

FORBIDDEN, INLINE = "ForbiddenService", "InlineCredentials"
RULES = OutsideRules(hosts=("prom.example", "gpu.example"), secrets=("prom", "gpu"))
OF_PROMETHEUS = "spec.plugins[name=TargetLoadPacking].args.metricProvider"


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(built_in(), rules=RULES)


def prometheus(*, enabled: bool = True, **provider: Any) -> dict[str, Any]:
    args = {"metricProvider": {"type": "Prometheus", "address": "https://prom.example", **provider}}
    return {"plugins": [{"name": "TargetLoadPacking", "enabled": enabled, "args": args}]}


def extender(url: str = "https://gpu.example", **tls: Any) -> dict[str, Any]:
    return {"extenders": [{"urlPrefix": url, "filterVerb": "filter", **({"tlsConfig": tls} if tls else {})}]}


def manifest(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"schedulerName": name, **spec},
    }


def ref(name: str, key: str) -> dict[str, str]:
    return {"name": name, "key": key}


@pytest.mark.parametrize(
    ("spec", "reason", "at"),
    [
        pytest.param(
            prometheus(tokenFile="/var/run/secrets/kubernetes.io/serviceaccount/token"),
            FORBIDDEN,
            f"{OF_PROMETHEUS}.tokenFile: only files below /etc/pilotage/credentials may be read for a profile",
            id="the scheduler's own token",
        ),
        pytest.param(
            prometheus(address="http://prom.example", tokenSecretRef=ref("prom", "token")),
            FORBIDDEN,
            f"{OF_PROMETHEUS}.address: a token is sent only over https://",
            id="a token in clear text",
        ),
        pytest.param(
            prometheus(address="https://evil.example", tokenSecretRef=ref("prom", "token")),
            FORBIDDEN,
            f"{OF_PROMETHEUS}.address: evil.example is not a host that may get a token",
            id="a token for somebody else",
        ),
        pytest.param(
            prometheus(address="http://evil.example"),
            FORBIDDEN,
            f"{OF_PROMETHEUS}.address: evil.example is not a host that may be called",
            id="a question to somebody else",
        ),
        pytest.param(
            {"plugins": [{"name": "Peaks", "args": {"watcherAddress": "http://evil.example"}}]},
            FORBIDDEN,
            "spec.plugins[name=Peaks].args.watcherAddress: evil.example is not a host that may be called",
            id="a load-watcher that nobody listed",
        ),
        pytest.param(
            prometheus(caFile="/dev/zero"), FORBIDDEN, f"{OF_PROMETHEUS}.caFile: only files below", id="an endless file"
        ),
        pytest.param(
            prometheus(tokenSecretRef=ref("other", "token")),
            FORBIDDEN,
            f"{OF_PROMETHEUS}.tokenSecretRef: the Secret other is not mounted",
            id="a Secret that is not mounted",
        ),
        pytest.param(
            prometheus(basicAuthSecretRef={"name": "prom"}, insecureSkipVerify=True),
            FORBIDDEN,
            f"{OF_PROMETHEUS}.insecureSkipVerify: a password is sent only where the certificate is checked",
            id="a password for anybody",
        ),
        pytest.param(prometheus(token="t"), INLINE, f"{OF_PROMETHEUS}.token: a credential is not", id="a token"),
        pytest.param(
            prometheus(token="t", enabled=False),
            INLINE,
            f"{OF_PROMETHEUS}.token: ",
            id="a token that waits for its turn",
        ),
        pytest.param(
            prometheus(address="https://u:p@prom.example"),
            INLINE,
            f"{OF_PROMETHEUS}.address: a user and a password are not allowed here",
            id="a password in an address",
        ),
        pytest.param(
            extender(certData="eA==", keyData="eA=="),
            INLINE,
            "spec.extenders[0].tlsConfig.keyData: a credential is not allowed here",
            id="a key",
        ),
        pytest.param(
            extender("https://u:p@gpu.example"),
            INLINE,
            "spec.extenders[0].urlPrefix: a user and a password are not allowed here",
            id="a password in an extender's address",
        ),
        pytest.param(
            extender(certFile="/etc/pilotage/credentials/gpu/tls.crt", keyFile="/etc/kubernetes/pki/ca.key"),
            FORBIDDEN,
            "spec.extenders[0].tlsConfig.keyFile: only files below",
            id="a key of the node",
        ),
        pytest.param(
            extender("https://evil.example", certSecretRef=ref("gpu", "tls.crt"), keySecretRef=ref("gpu", "tls.key")),
            FORBIDDEN,
            "spec.extenders[0].urlPrefix: evil.example is not a host that may get a client certificate",
            id="a key for somebody else",
        ),
        pytest.param(
            extender(certSecretRef=ref("gpu", "tls.crt"), keySecretRef=ref("tls", "tls.key")),
            FORBIDDEN,
            "spec.extenders[0].tlsConfig.keySecretRef: the Secret tls is not mounted",
            id="a key that is not mounted",
        ),
    ],
)
def test_what_may_not_be_is_told_with_its_place(judge: Judge, spec: dict[str, Any], reason: str, at: str) -> None:
    found = judge.judge("p", spec)
    assert [each.reason for each in found.complaints] == [reason]
    assert found.complaints[0].message.startswith(at)
    assert "'t'" not in found.complaints[0].message
    assert found.can_run, "what runs already runs on; the scheduler does not ask"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(prometheus(tokenSecretRef=ref("prom", "token")), id="a token from a Secret"),
        pytest.param(prometheus(basicAuthSecretRef={"name": "prom"}), id="a password from a Secret"),
        pytest.param(prometheus(tokenFile="/etc/pilotage/credentials/more/token"), id="a file that is mounted by hand"),
        pytest.param(prometheus(enabled=False, address="http://evil.example"), id="a plugin that takes no part"),
        pytest.param(extender("http://gpu.example"), id="an extender that is shown nothing"),
        pytest.param(extender(certSecretRef=ref("gpu", "c"), keySecretRef=ref("gpu", "k")), id="a key from a Secret"),
        pytest.param(extender(caData="eA=="), id="a certificate is for everybody"),
        pytest.param({"plugins": [{"name": "TargetLoadPacking"}]}, id="the API server itself"),
    ],
)
def test_what_may_be(judge: Judge, spec: dict[str, Any]) -> None:
    assert judge.judge("p", spec).complaints == ()


def test_a_plugin_that_cannot_say_whom_it_asks_is_broken() -> None:
    class Unsure(TargetLoadPacking):
        def service(self) -> Any:
            raise KeyError("nobody")

    catalogue = built_in()
    catalogue.add(Unsure, "unsure.py")
    (complaint,) = Judge(catalogue).judge("p", {"plugins": [{"name": "Unsure"}]}).complaints
    assert (complaint.reason, complaint.message) == (
        "BrokenPlugin",
        "spec.plugins: cannot determine which services Unsure uses: KeyError: 'nobody'",
    )


def test_secrets_become_files_of_the_configuration(judge: Judge) -> None:
    found = judge.judge("p", extender(certSecretRef=ref("gpu", "tls.crt"), keySecretRef=ref("gpu", "tls.key")))
    files = {
        name: f"/etc/pilotage/credentials/gpu/tls.{end}" for name, end in (("certFile", "crt"), ("keyFile", "key"))
    }
    assert found.extenders[0]["tlsConfig"] == files


def test_a_check_without_a_cluster_says_what_it_can() -> None:
    specs = {
        "host": prometheus(tokenSecretRef=ref("any", "token")),
        "file": prometheus(tokenFile="/etc/shadow"),
        "inline": prometheus(token="t"),
    }
    found = checked([manifest(name, spec) for name, spec in specs.items()], Judge(built_in()))
    assert {each.name: [one.reason for one in each.complaints] for each in found} == {
        "host": [],
        "file": [FORBIDDEN],
        "inline": [INLINE],
    }


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(extender(keyData="s3cret" * 20_000), id="a key that is too long"),
        pytest.param(extender(keyData=["s3cret"]), id="a key that is no text"),
        pytest.param(extender(keyData="s3cret!"), id="a key that is no base64"),
        pytest.param(extender("ftp://me:s3cret@gpu"), id="an address that is none"),
        pytest.param(prometheus(address="ftp://me:s3cret@prom"), id="another address that is none"),
        pytest.param(prometheus(token=["s3cret"]), id="a token that is no text"),
    ],
)
def test_what_is_wrong_is_told_without_the_credential(judge: Judge, spec: dict[str, Any]) -> None:
    found = judge.judge("p", spec)
    assert found.complaints
    assert not [each.message for each in found.complaints if "s3cret" in each.message]
