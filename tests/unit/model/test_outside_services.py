"""Whom a profile may have the scheduler ask, and what it may show them."""

from typing import Any

import pytest

from pilotage.model.outside_services import (
    ACCOUNT,
    CREDENTIALS,
    OutsideRules,
    Service,
    inline_credentials,
    is_below,
    refusals,
    wrong_directory,
    wrong_host,
)

TOKEN = f"{CREDENTIALS}/prometheus/token"


def asked(address: str, **more: Any) -> Service:
    return Service(address, "address", **more)


def with_token(address: str, path: str = TOKEN, **more: Any) -> Service:
    return asked(address, files=(("tokenFile", path),), shows="a token", **more)


def fields(service: Service, *hosts: str) -> list[str]:
    return [field for field, _ in refusals(service, OutsideRules(hosts=hosts))]


@pytest.mark.parametrize(
    ("service", "hosts", "wrong"),
    [
        pytest.param(asked("http://prometheus:9090"), (), [], id="anybody may be asked who is shown nothing"),
        pytest.param(asked("http://prometheus:9090"), ("other",), ["address"], id="but only those of a list"),
        pytest.param(asked("http://prometheus:9090"), ("prometheus",), [], id="and these are in it"),
        pytest.param(with_token("https://prometheus"), (), ["address"], id="without a list nobody gets a token"),
        pytest.param(with_token("https://prometheus"), ("prometheus",), [], id="with a list those of it do"),
        pytest.param(with_token("http://prometheus"), ("prometheus",), ["address"], id="but not in clear text"),
        pytest.param(
            with_token("https://prometheus", trusts_anybody="insecureSkipVerify"),
            ("prometheus",),
            ["insecureSkipVerify"],
            id="nor to anybody who poses as them",
        ),
        pytest.param(
            with_token("http://evil", f"{ACCOUNT}/token"),
            (),
            ["tokenFile", "address", "address"],
            id="the scheduler's own token goes nowhere",
        ),
        pytest.param(
            with_token("https://prometheus", f"{ACCOUNT}/token"),
            ("prometheus",),
            ["tokenFile"],
            id="not even to those of the list",
        ),
    ],
)
def test_what_may_be_sent_to_whom(service: Service, hosts: tuple[str, ...], wrong: list[str]) -> None:
    assert fields(service, *hosts) == wrong


@pytest.mark.parametrize(
    "address",
    [
        pytest.param(address, id=address.encode("unicode_escape").decode())
        for address in (
            *(
                "https://good\\@evil",
                "https://good#@evil",
                "https://evil?@good",
                "https://evil\t.good",
                "https://evil/ ",
            ),
            *("https://good@evil@good", "https://[good]", "https://", "https:///good", "//good", "file:///etc/passwd"),
            *(
                "https://good:port",
                "https://g\u043e\u043ed",
                "https://good\n",
                "https://%67ood",
                "https://good/?x=y",
                "https://-g",
            ),
        )
    ],
)
def test_an_address_that_two_readers_could_read_differently_is_none(address: str) -> None:
    assert fields(with_token(address), "good", "evil") == ["address"]


@pytest.mark.parametrize(
    ("host", "listed", "is_listed"),
    [
        pytest.param("prom.example", "prom.example", True, id="itself"),
        pytest.param("PROM.example.", "prom.Example", True, id="in other letters, and with the root's dot"),
        pytest.param("prom.example.evil", "prom.example", False, id="something before another"),
        pytest.param("evilprom.example", "prom.example", False, id="something behind another"),
        pytest.param("prom.example:443", "prom.example:443", True, id="the port that is listed"),
        pytest.param("prom.example", "prom.example:443", True, id="the port of https"),
        pytest.param("prom.example:8443", "prom.example:443", False, id="another port"),
        pytest.param("prom.example:8443", "prom.example", True, id="any port"),
        pytest.param("prom.example", "*.example", True, id="a part of a domain"),
        pytest.param("a.b.example", "*.example", True, id="deep in a domain"),
        pytest.param("example", "*.example", False, id="the domain itself"),
        pytest.param("notexample", "*.example", False, id="a name that ends alike"),
        pytest.param("[::1]:9090", "[::1]:9090", True, id="an address of version 6"),
        pytest.param("prom.example", "https://prom.example", False, id="an entry that is none"),
    ],
)
def test_hosts_of_the_list(host: str, listed: str, is_listed: bool) -> None:
    assert (fields(with_token(f"https://{host}/path"), listed) == []) is is_listed


@pytest.mark.parametrize(
    ("path", "below"),
    [
        pytest.param(TOKEN, True, id="a Secret"),
        pytest.param(f"{CREDENTIALS}/token", True, id="a file"),
        pytest.param(f"{CREDENTIALS}//prometheus/./token", True, id="written oddly"),
        pytest.param(CREDENTIALS, False, id="the directory itself"),
        pytest.param(f"{CREDENTIALS}-of-others/token", False, id="a name that begins alike"),
        pytest.param(f"{CREDENTIALS}/../../var/run/token", False, id="out of it"),
        pytest.param(f"{CREDENTIALS}/x/../token", False, id="out and in again"),
        pytest.param("etc/pilotage/credentials/token", False, id="from wherever we are"),
        pytest.param(f"/{CREDENTIALS}/token", False, id="two slashes, which may mean something else"),
        pytest.param(f"{CREDENTIALS}/token\0.pem", False, id="a name that ends early"),
    ],
)
def test_only_what_is_written_below_the_directory_is_there(path: str, below: bool) -> None:
    assert is_below(path, CREDENTIALS) is below


@pytest.mark.parametrize(
    ("field", "path", "is_allowed"),
    [
        pytest.param("caFile", f"{ACCOUNT}/ca.crt", True, id="the cluster's authority, which every pod has"),
        pytest.param("tlsConfig.caFile", f"{ACCOUNT}/service-ca.crt", True, id="also in an extender"),
        pytest.param("caFile", f"{ACCOUNT}/token", False, id="the token beside it"),
        pytest.param("caFile", f"{ACCOUNT}/../serviceaccount/ca.crt", False, id="only as it is written"),
        pytest.param("tokenFile", f"{ACCOUNT}/ca.crt", False, id="nothing to send as a token"),
    ],
)
def test_the_certificate_of_the_clusters_authority_is_public(field: str, path: str, is_allowed: bool) -> None:
    assert (fields(asked("https://p", files=((field, path),))) == []) is is_allowed


def test_a_secret_must_be_mounted_where_it_is_known_which_are() -> None:
    service = asked("https://p", secrets=(("tokenSecretRef", "mine"),))
    assert list(refusals(service, OutsideRules(hosts=None))) == []
    assert list(refusals(service, OutsideRules(hosts=None, secrets=("mine",)))) == []
    ((field, text),) = refusals(service, OutsideRules(hosts=None, secrets=("other",)))
    assert (field, text) == (
        "tokenSecretRef",
        "the Secret mine is not mounted; add it to scheduler.credentials.secrets of the chart",
    )


@pytest.mark.parametrize(
    ("service", "wrong"),
    [
        pytest.param(asked("https://p", inline=(("token", "write it elsewhere"),)), ["token"], id="a token"),
        pytest.param(asked("https://user:word@p"), ["address"], id="a user and a password"),
        pytest.param(asked("https://user@p/path"), ["address"], id="a user"),
        pytest.param(asked("https://p/a@b"), [], id="a path with such a sign"),
    ],
)
def test_credentials_that_stand_in_a_profile(service: Service, wrong: list[str]) -> None:
    assert [field for field, _ in inline_credentials(service)] == wrong


@pytest.mark.parametrize(
    ("directory", "is_wrong"),
    [
        pytest.param(CREDENTIALS, False, id="the default"),
        pytest.param("/", True, id="everything"),
        pytest.param("/var/run/secrets", True, id="what has the account's token in it"),
        pytest.param(ACCOUNT, True, id="where it is"),
        pytest.param(f"{ACCOUNT}/mine", True, id="in it"),
        pytest.param("/etc/../var/run", True, id="with two dots"),
        pytest.param("credentials", True, id="from wherever we are"),
    ],
)
def test_a_directory_that_would_give_the_accounts_token_away(directory: str, is_wrong: bool) -> None:
    assert bool(wrong_directory(directory)) is is_wrong


@pytest.mark.parametrize("entry", ["https://prom", "prom/path", "*", "*.", "a b", "prom:x", "a,b", "user@prom", ""])
def test_entries_that_list_no_host(entry: str) -> None:
    assert "write HOST, HOST:PORT or *.DOMAIN" in wrong_host(entry)
