"""Who is let in, and how often the API server is asked about it."""

import asyncio
import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from localcluster.pki import Authority, Identity
from pilotage.cluster.credentials.certificate_trust import FrontProxy
from pilotage.cluster.credentials.delegated_auth import (
    ACCESS_REVIEWS,
    TOKEN_REVIEWS,
    AuthSettings,
    DelegatedAuth,
    ResourceAttributes,
)
from pilotage.cluster.credentials.remembered_answers import RememberedAnswers
from pilotage.cluster.credentials.trust_source import TrustSettings
from pilotage.cluster.transport.api_errors import ApiError, Unreachable
from pilotage.model.users import User


@dataclass
class FakeApi:
    """Knows tokens by user, users by the paths that they may see, and one ConfigMap."""

    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    rights: dict[str, set[str]] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failure: Exception | None = None
    answer: bytes | None = None
    slow: asyncio.Event | None = None

    def count(self, path: str) -> int:
        return sum(1 for asked, _ in self.asked if asked == path)

    async def get(self, path: str) -> bytes:
        self.asked.append((path, {}))
        if self.failure:
            raise self.failure
        return json.dumps({"kind": "ConfigMap", "data": self.data}).encode()

    async def post(self, path: str, body: bytes) -> bytes:
        spec = json.loads(body)["spec"]
        self.asked.append((path, spec))
        if self.slow:
            await self.slow.wait()
        if self.failure:
            raise self.failure
        if self.answer is not None:
            return self.answer
        status = self.token_status(spec) if path == TOKEN_REVIEWS else self.access_status(spec)
        return json.dumps({"kind": "Review", "metadata": {}, "spec": spec, "status": status}).encode()

    def token_status(self, spec: dict[str, Any]) -> dict[str, Any]:
        user = self.tokens.get(spec["token"])
        return {"user": {}, "error": "invalid bearer token"} if user is None else {"authenticated": True, "user": user}

    def access_status(self, spec: dict[str, Any]) -> dict[str, Any]:
        wanted = spec["nonResourceAttributes"]
        return {"allowed": f"{wanted['verb']} {wanted['path']}" in self.rights.get(spec["user"], ())}

    async def patch(self, path: str, body: bytes) -> bytes:
        raise AssertionError

    async def delete(self, path: str, body: bytes) -> bytes:
        raise AssertionError


PROMETHEUS = {
    "username": "prometheus",
    "uid": "7",
    "groups": ["monitors", "system:authenticated"],
    "extra": {"a": ["b"]},
}
TOKEN = {"authorization": ["Bearer good"]}


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(tokens={"good": PROMETHEUS}, rights={"prometheus": {"get /metrics"}})


async def judged(auth: DelegatedAuth, path: str = "/metrics", method: str = "GET", **rest: Any) -> tuple[int, str]:
    headers = {name: [value] if isinstance(value, str) else value for name, value in rest.get("headers", {}).items()}
    denial = await auth.judge(method, path, headers, rest.get("certificate"))
    return (200, "") if denial is None else (denial.status, denial.message)


def forbidden(user: str, verb: str = "get", path: str = "/metrics") -> tuple[int, str]:
    return 403, f'forbidden: User "{user}" cannot {verb} path "{path}"'


class TestPathsThatAreOpen:
    @pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
    async def test_probes_ask_nobody(self, api: FakeApi, path: str) -> None:
        api.failure = Unreachable("no API server")
        auth = DelegatedAuth(api, AuthSettings())
        assert await judged(auth, path, headers={"authorization": "Bearer wrong"}) == (200, "")
        assert api.asked == []

    @pytest.mark.parametrize("path", ["/readyz/shutdown", "/livez/ping", "/healthz/", "/healthzz", "//healthz"])
    async def test_a_single_check_tells_reasons_and_is_not_open(self, api: FakeApi, path: str) -> None:
        assert await judged(DelegatedAuth(api, AuthSettings()), path) == forbidden("system:anonymous", path=path)

    async def test_a_star_opens_all_that_begins_so(self, api: FakeApi) -> None:
        auth = DelegatedAuth(api, AuthSettings(always_allow_paths=["/metrics/*"]))
        assert await judged(auth, "/metrics/slis") == (200, "")
        assert (await judged(auth, "/metrics"))[0] == 403
        assert (await judged(auth, "/healthz"))[0] == 403


class TestTokens:
    async def test_the_user_of_a_token_and_what_they_may(self, api: FakeApi) -> None:
        auth = DelegatedAuth(api, AuthSettings())
        assert await judged(auth, headers=TOKEN) == (200, "")
        assert api.asked == [
            (TOKEN_REVIEWS, {"token": "good"}),
            (
                ACCESS_REVIEWS,
                {
                    "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
                    "user": "prometheus",
                    "uid": "7",
                    "groups": ["monitors", "system:authenticated"],
                    "extra": {"a": ["b"]},
                },
            ),
        ]
        assert await judged(auth, "/configz", headers=TOKEN) == forbidden("prometheus", path="/configz")
        assert await judged(auth, method="DELETE", headers=TOKEN) == forbidden("prometheus", "delete")

    @pytest.mark.parametrize(
        ("header", "expected"),
        [
            pytest.param("Bearer wrong", (401, "Unauthorized"), id="a wrong token"),
            pytest.param("bearer good", (200, ""), id="a scheme in small letters"),
            pytest.param("Bearer a b", (401, "Unauthorized"), id="two words"),
            pytest.param("Bearer   good", forbidden("system:anonymous"), id="an empty token"),
            pytest.param("Bearer", forbidden("system:anonymous"), id="no token"),
            pytest.param("Basic eDp5", forbidden("system:anonymous"), id="another scheme"),
        ],
    )
    async def test_as_kube_scheduler_reads_the_header(
        self, api: FakeApi, header: str, expected: tuple[int, str]
    ) -> None:
        assert await judged(DelegatedAuth(api, AuthSettings()), headers={"authorization": header}) == expected

    async def test_group_masters_may_everything(self, api: FakeApi) -> None:
        api.tokens["root"] = {"username": "root", "groups": ["system:masters"]}
        assert await judged(DelegatedAuth(api, AuthSettings()), headers={"authorization": "Bearer root"}) == (200, "")
        assert api.count(ACCESS_REVIEWS) == 0

    async def test_who_is_known_belongs_to_those_who_are(self, api: FakeApi) -> None:
        api.tokens["plain"] = {"username": "plain"}
        await judged(DelegatedAuth(api, AuthSettings()), headers={"authorization": "Bearer plain"})
        assert api.asked[-1][1]["groups"] == ["system:authenticated"]

    async def test_quotes_in_names_are_escaped(self, api: FakeApi) -> None:
        assert (await judged(DelegatedAuth(api, AuthSettings()), '/a"b'))[1].endswith(r'cannot get path "/a\"b"')

    async def test_the_reason_of_the_api_server_is_passed_on(self, api: FakeApi) -> None:
        api.answer = b'{"status": {"allowed": false, "reason": "too late"}}'
        denial = await judged(DelegatedAuth(api, AuthSettings()))
        assert denial == (403, 'forbidden: User "system:anonymous" cannot get path "/metrics": too late')


class TestAudiences:
    """Tokens for an audience of the server's own, and of the API server."""

    @pytest.mark.parametrize(
        ("token", "reviews", "name"),
        [
            pytest.param("ours", 1, "somebody", id="for the audience"),
            pytest.param("theirs", 2, "prometheus", id="for the API server"),
            pytest.param("unaware", 2, "prometheus", id="an authenticator that knows no audiences has checked none"),
            pytest.param("bad", 2, None, id="for nobody"),
        ],
    )
    async def test_ours_is_asked_about_first(self, token: str, reviews: int, name: str | None) -> None:
        class Api(FakeApi):
            def token_status(self, spec: dict[str, Any]) -> dict[str, Any]:
                known: dict[str, Any] = {"authenticated": True, "user": PROMETHEUS}
                if spec.get("audiences") == ["pilotage"]:
                    if spec["token"] == "unaware":
                        return known
                    is_ours = spec["token"] == "ours"
                    user = {"user": {"username": "somebody"}, "audiences": ["pilotage"]}
                    return {"authenticated": True, **user} if is_ours else {"authenticated": False}
                return known if spec["token"] in ("theirs", "unaware") else {"authenticated": False}

        api = Api()
        auth = DelegatedAuth(api, AuthSettings(audiences=("pilotage",)))
        for _ in range(2):
            user = await auth.identify({"authorization": [f"Bearer {token}"]}, None)
            assert (user and user.name) == name
        assert api.count(TOKEN_REVIEWS) == reviews

    async def test_what_somebody_may_do_with_objects_is_asked_and_remembered(self) -> None:
        class Api(FakeApi):
            def access_status(self, spec: dict[str, Any]) -> dict[str, Any]:
                return {"allowed": spec["resourceAttributes"] == {"verb": "list", "resource": "pods", "namespace": "a"}}

        api = Api()
        auth = DelegatedAuth(api, AuthSettings())
        user = User("somebody")
        for _ in range(2):
            assert await auth.may(user, ResourceAttributes("list", "pods", namespace="a"))
            assert await auth.may(user, ResourceAttributes("list", "pods")) is False
        assert api.count(ACCESS_REVIEWS) == 2
        assert await auth.may(User("x", groups=("system:masters",)), ResourceAttributes("delete", "nodes"))
        api.failure = Unreachable("gone")
        assert await auth.may(user, ResourceAttributes("get", "pods")) is None


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class TestMemory:
    @pytest.mark.parametrize("token", ["good", "wrong"])
    async def test_a_token_is_looked_up_every_ten_seconds(self, api: FakeApi, token: str) -> None:
        clock = Clock()
        auth = DelegatedAuth(api, AuthSettings(), clock=clock)
        for seconds, lookups in [(0.0, 1), (9.9, 1), (0.2, 2)]:
            clock.now += seconds
            await judged(auth, headers={"authorization": f"Bearer {token}"})
            assert api.count(TOKEN_REVIEWS) == lookups

    @pytest.mark.parametrize(("allowed", "expected"), [(True, 5), (False, 2)])
    async def test_rights_have_lifetimes_of_their_own(self, api: FakeApi, allowed: bool, expected: int) -> None:
        api.rights["system:anonymous"] = {"get /metrics"} if allowed else set()
        clock = Clock()
        auth = DelegatedAuth(api, AuthSettings(authorized_ttl=1, unauthorized_ttl=3), clock=clock)
        for _ in range(5):
            await judged(auth)
            clock.now += 1
        assert api.count(ACCESS_REVIEWS) == expected

    async def test_without_a_lifetime_nothing_is_remembered(self, api: FakeApi) -> None:
        auth = DelegatedAuth(api, AuthSettings(token_ttl=0, authorized_ttl=0, unauthorized_ttl=0))
        for _ in range(3):
            await judged(auth, headers=TOKEN)
        assert (api.count(TOKEN_REVIEWS), api.count(ACCESS_REVIEWS)) == (3, 3)

    async def test_who_ask_at_once_share_one_lookup(self, api: FakeApi) -> None:
        api.slow = asyncio.Event()
        auth = DelegatedAuth(api, AuthSettings())
        asking = [asyncio.create_task(judged(auth, headers=TOKEN)) for _ in range(10)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        # Who gives up, even the first one, takes it from nobody.
        asking[0].cancel()
        await asyncio.wait(asking[:1])
        api.slow.set()
        assert await asyncio.gather(*asking[1:]) == [(200, "")] * 9
        assert (api.count(TOKEN_REVIEWS), api.count(ACCESS_REVIEWS)) == (1, 1)

    async def test_it_is_bounded_and_the_oldest_goes(self) -> None:
        asked: list[bytes] = []

        def ask(key: bytes) -> Callable[[], Any]:
            async def answer() -> bytes:
                asked.append(key)
                return key

            return answer

        answers = RememberedAnswers[bytes](most=2, at_once=1)
        for key in (b"a", b"b", b"c", b"b", b"c", b"a"):
            assert await answers.get(key, ask(key), lambda _: 60.0) == key
        assert asked == [b"a", b"b", b"c", b"a"]

    async def test_strangers_cannot_make_many_lookups_at_once(self, api: FakeApi) -> None:
        api.slow = asyncio.Event()
        auth = DelegatedAuth(api, AuthSettings(lookups_at_once=2))
        asking = [
            asyncio.create_task(judged(auth, headers={"authorization": f"Bearer {number}"})) for number in range(5)
        ]
        for _ in range(10):
            await asyncio.sleep(0)
        assert api.count(TOKEN_REVIEWS) == 2
        api.slow.set()
        assert await asyncio.gather(*asking) == [(401, "Unauthorized")] * 5


class TestFailedLookups:
    FAILURES = (
        pytest.param(Unreachable("refused"), None, id="no connection"),
        pytest.param(ApiError(403, reason="Forbidden", message="", retry_after=None, body=b""), None, id="no rights"),
        pytest.param(None, b"<html>", id="another's answer"),
        pytest.param(None, b"{}", id="half an answer"),
        pytest.param(None, b'{"status": {"authenticated": "yes", "allowed": "yes"}}', id="a strange answer"),
        pytest.param(TimeoutError(), None, id="no answer in time"),
    )

    @pytest.mark.parametrize(("failure", "answer"), FAILURES)
    async def test_an_unknown_user_stays_out_until_the_next_lookup(
        self, api: FakeApi, failure: Exception | None, answer: bytes | None
    ) -> None:
        auth = DelegatedAuth(api, AuthSettings())
        api.failure, api.answer = failure, answer
        assert await judged(auth, headers=TOKEN) == (401, "Unauthorized")
        api.failure = api.answer = None
        assert await judged(auth, headers=TOKEN) == (200, "")

    @pytest.mark.parametrize(("failure", "answer"), FAILURES)
    async def test_unknown_rights_are_none_until_the_next_lookup(
        self, api: FakeApi, failure: Exception | None, answer: bytes | None
    ) -> None:
        api.rights["system:anonymous"] = {"get /metrics"}
        auth = DelegatedAuth(api, AuthSettings())
        api.failure, api.answer = failure, answer
        assert await judged(auth) == (500, "the API server did not answer the access review")
        api.failure = api.answer = None
        assert await judged(auth) == (200, "")

    async def test_a_lookup_does_not_last_for_ever(self, api: FakeApi) -> None:
        api.slow = asyncio.Event()
        auth = DelegatedAuth(api, AuthSettings(lookup_timeout=0.01))
        assert await judged(auth, headers=TOKEN) == (401, "Unauthorized")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Authority]:
    names = ("clients", "proxies", "strangers")
    return {name: Authority(tmp_path_factory.mktemp(name)) for name in names}


def certificate(authority: Authority, user: str, group: str = "") -> bytes:
    authority.issue([Identity("client", user, group)])
    pem = (authority.folder / "client.crt").read_bytes()
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def bundle(authority: Authority) -> str:
    return (authority.folder / "ca.crt").read_text()


@pytest.fixture
def cluster_api(pki: dict[str, Authority]) -> FakeApi:
    """An API server whose ConfigMap is as kubeadm's."""
    return FakeApi(
        tokens={"good": PROMETHEUS},
        rights={"anna": {"get /metrics"}},
        data={
            "client-ca-file": bundle(pki["clients"]),
            "requestheader-client-ca-file": bundle(pki["proxies"]),
            "requestheader-allowed-names": '["front-proxy-client"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        },
    )


REMOTE = {"x-remote-user": "anna", "x-remote-group": ["a", "b"], "x-remote-extra-scopes%2fx": ["one"]}


class TestCertificates:
    @pytest.mark.parametrize(
        ("signer", "subject", "headers", "expected"),
        [
            pytest.param("clients", ("anna", "people"), {}, (200, ""), id="a user"),
            pytest.param("clients", ("kubernetes-admin", "system:masters"), {}, (200, ""), id="an administrator"),
            pytest.param("clients", ("anna", "people"), {"authorization": "Bearer wrong"}, (200, ""), id="and a token"),
            pytest.param("clients", ("bob", ""), REMOTE, forbidden("bob"), id="headers of who is no proxy"),
            pytest.param(
                "clients", ("front-proxy-client", ""), REMOTE, forbidden("front-proxy-client"), id="a namesake"
            ),
            pytest.param("proxies", ("front-proxy-client", ""), REMOTE, (200, ""), id="the front proxy"),
            pytest.param("proxies", ("front-proxy-client", ""), {}, (401, "Unauthorized"), id="a proxy for nobody"),
            pytest.param("proxies", ("other", ""), REMOTE, (401, "Unauthorized"), id="another of its authority"),
            pytest.param("proxies", ("root", "system:masters"), {}, (401, "Unauthorized"), id="a proxy is no user"),
            pytest.param("strangers", ("root", "system:masters"), {}, (401, "Unauthorized"), id="a stranger"),
            pytest.param("strangers", ("x", ""), TOKEN, forbidden("prometheus"), id="a stranger with a token"),
        ],
    )
    async def test_whom_a_certificate_speaks_for(
        self,
        cluster_api: FakeApi,
        pki: dict[str, Authority],
        signer: str,
        subject: tuple[str, str],
        headers: dict[str, Any],
        expected: tuple[int, str],
    ) -> None:
        auth = DelegatedAuth(cluster_api, AuthSettings())
        assert await auth.refresh()
        assert await judged(auth, headers=headers, certificate=certificate(pki[signer], *subject)) == expected

    async def test_what_the_front_proxy_says_is_passed_on(
        self, cluster_api: FakeApi, pki: dict[str, Authority]
    ) -> None:
        auth = DelegatedAuth(cluster_api, AuthSettings())
        await auth.refresh()
        await judged(auth, headers=REMOTE, certificate=certificate(pki["proxies"], "front-proxy-client"))
        spec = cluster_api.asked[-1][1]
        assert (spec["user"], spec["groups"]) == ("anna", ["a", "b", "system:authenticated"])
        assert spec["extra"] == {"scopes/x": ["one"]}

    async def test_headers_alone_are_nobody(self, cluster_api: FakeApi) -> None:
        auth = DelegatedAuth(cluster_api, AuthSettings())
        await auth.refresh()
        assert await judged(auth, headers=REMOTE) == forbidden("system:anonymous")

    async def test_before_the_authorities_are_known_no_certificate_counts(
        self, cluster_api: FakeApi, pki: dict[str, Authority]
    ) -> None:
        auth = DelegatedAuth(cluster_api, AuthSettings())
        assert auth.client_authorities() == ""
        root = certificate(pki["clients"], "root", "system:masters")
        assert await judged(auth, certificate=root) == (401, "Unauthorized")

    async def test_a_certificate_that_has_ended_since_the_handshake(
        self, cluster_api: FakeApi, pki: dict[str, Authority], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        auth = DelegatedAuth(cluster_api, AuthSettings())
        await auth.refresh()
        monkeypatch.setattr("localcluster.pki.LIFETIME", datetime.timedelta(seconds=-60))
        ended = certificate(pki["clients"], "anna")
        assert await judged(auth, certificate=ended) == (401, "Unauthorized")

    async def test_files_count_before_the_cluster(
        self, cluster_api: FakeApi, pki: dict[str, Authority], tmp_path: Path
    ) -> None:
        (tmp_path / "ca.crt").write_text(bundle(pki["strangers"]))
        proxy = FrontProxy(username_headers=["x-user"])
        trust = TrustSettings(str(tmp_path / "ca.crt"), str(tmp_path / "ca.crt"), proxy)
        auth = DelegatedAuth(cluster_api, AuthSettings(trust=trust))
        assert await auth.refresh()
        assert cluster_api.asked == [], "nothing is missing"
        stranger = certificate(pki["strangers"], "bob")
        assert await judged(auth, certificate=stranger) == forbidden("bob")
        assert await judged(auth, headers={"x-user": "anna"}, certificate=stranger) == (200, "")
        assert await judged(auth, certificate=certificate(pki["clients"], "anna")) == (401, "Unauthorized")

    async def test_without_lookup_the_cluster_is_not_asked(self, cluster_api: FakeApi) -> None:
        auth = DelegatedAuth(cluster_api, AuthSettings(trust=TrustSettings(look_up=False)))
        assert await auth.refresh()
        assert (cluster_api.asked, auth.client_authorities()) == ([], "")

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"client-ca-file": "nonsense"}, id="no certificates"),
            pytest.param({"requestheader-allowed-names": "front"}, id="no list"),
            pytest.param(None, id="no answer"),
        ],
    )
    async def test_what_was_known_is_kept(
        self,
        cluster_api: FakeApi,
        pki: dict[str, Authority],
        change: dict[str, str] | None,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        auth = DelegatedAuth(cluster_api, AuthSettings())
        assert await auth.refresh()
        before = auth.client_authorities()
        assert bundle(pki["clients"]) in before
        assert bundle(pki["proxies"]) in before
        if change is None:
            cluster_api.failure = Unreachable("refused")
        else:
            cluster_api.data |= change
        assert not await auth.refresh()
        assert auth.client_authorities() == before
        assert len(caplog.records) == 1

    @pytest.mark.looptime
    async def test_it_keeps_up(self, cluster_api: FakeApi) -> None:
        cluster_api.failure = Unreachable("refused")
        auth = DelegatedAuth(cluster_api, AuthSettings())
        running = asyncio.create_task(auth.run())
        await asyncio.sleep(11)
        assert (len(cluster_api.asked), auth.client_authorities()) == (3, "")
        cluster_api.failure = None
        await asyncio.sleep(5)
        assert auth.client_authorities() != ""
        await asyncio.sleep(120)
        assert len(cluster_api.asked) == 6
        running.cancel()
