"""Which certificate clients see, what TLS they may speak, and which certificates they may show."""

import asyncio
import datetime
import logging
import shutil
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from localcluster.pki import Authority, Identity
from pilotage.telemetry.server import Denial
from pilotage.telemetry.serving_certificate import CannotServe, ServingCertificate, TlsSettings

LOCAL = ("localhost", "127.0.0.1")


@pytest.fixture
def files(authority: Authority, tmp_path: Path) -> TlsSettings:
    """A pair of files that a test may change."""
    for name in ("server.crt", "server.key"):
        shutil.copy(authority.folder / name, tmp_path)
    return TlsSettings(str(tmp_path / "server.crt"), str(tmp_path / "server.key"))


async def shown(served: Any, **settings: Any) -> x509.Certificate:
    """Return the certificate that a client sees, believed or not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for name, value in settings.items():
        setattr(context, name, value)
    _, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=context)
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return x509.load_der_x509_certificate(certificate)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody tells a test
        await asyncio.sleep(0.01)


class TestFiles:
    async def test_a_new_pair_is_taken_over_while_running(
        self, serve: Any, files: TlsSettings, authority: Authority, caplog: pytest.LogCaptureFixture
    ) -> None:
        authority.issue([Identity("newer", "newer", "", LOCAL)])
        served = await serve(certificate=ServingCertificate(files))
        session = served.session()
        await (await session.get("/healthz")).read()
        # 1. Between the two files nothing fits, and nothing breaks.
        shutil.copy(authority.folder / "newer.crt", files.certificate_file)
        async with asyncio.timeout(60):
            await until(lambda: any("keeps its current certificate" in words for words in caplog.messages))
        assert (await shown(served)).subject.rfc4514_string() == "CN=scheduler"
        # 2. Both are there.
        caplog.set_level(logging.INFO)
        shutil.copy(authority.folder / "newer.key", files.key_file)
        async with asyncio.timeout(60):
            await until(lambda: any("reloaded the serving certificate" in words for words in caplog.messages))
        assert (await shown(served)).subject.rfc4514_string() == "CN=newer"
        assert await served.ask("/healthz") == (200, "ok")
        assert (await session.get("/healthz")).status == 200, "an older connection goes on"

    @pytest.mark.parametrize("content", [pytest.param(b"", id="empty"), pytest.param(None, id="gone")])
    def test_a_pair_that_cannot_be_used_changes_nothing(
        self, files: TlsSettings, content: bytes | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        certificate = ServingCertificate(files)
        before = certificate.context.current
        path = Path(files.certificate_file)
        path.unlink() if content is None else path.write_bytes(content)
        certificate.refresh()
        assert certificate.context.current is before
        assert "the server keeps its current certificate" in caplog.messages[0]

    def test_the_same_pair_makes_no_new_context(self, files: TlsSettings) -> None:
        certificate = ServingCertificate(files)
        before = certificate.context.current
        certificate.refresh()
        assert certificate.context.current is before

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            pytest.param(TlsSettings("a.crt"), "require each other: set both or neither", id="one file alone"),
            pytest.param(TlsSettings("a.crt", "a.key"), "cannot read a.crt: No such file", id="no files"),
            pytest.param(
                TlsSettings(minimum_version="TLS1.2"),
                "unknown --tls-min-version 'TLS1.2'; known are VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13",
                id="no version",
            ),
            pytest.param(
                TlsSettings(cipher_suites=["ECDHE-RSA-AES128-GCM-SHA256"]),
                "unknown --tls-cipher-suites ECDHE-RSA-AES128-GCM-SHA256; known are TLS_AES_128_GCM_SHA256",
                id="another's name of a cipher",
            ),
        ],
    )
    def test_what_cannot_be_served_says_what_to_do(self, settings: TlsSettings, words: str) -> None:
        with pytest.raises(CannotServe) as problem:
            ServingCertificate(settings)
        assert words in str(problem.value)

    def test_a_key_with_a_password_does_not_wait_for_a_terminal(self, files: TlsSettings) -> None:
        path = Path(files.key_file)
        key = load_pem_private_key(path.read_bytes(), None)
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
        with pytest.raises(CannotServe, match="cannot use"):
            ServingCertificate(files)


class TestOwnCertificate:
    async def test_it_serves_the_names_of_this_machine(self, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("socket.gethostname", lambda: "machine")
        served = await serve(certificate=ServingCertificate(TlsSettings(), names=["10.0.0.7"]))
        certificate = await shown(served)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["localhost", "machine"]
        assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "10.0.0.7"]
        trust = ssl.create_default_context(cadata=certificate.public_bytes(Encoding.PEM).decode())
        async with served.session(trust).get("/healthz") as response:
            assert response.status == 200

    def test_nothing_stays_on_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        ServingCertificate(TlsSettings())
        assert list(tmp_path.iterdir()) == []

    def test_it_is_renewed_before_it_ends(self) -> None:
        now = datetime.datetime.now(datetime.UTC)
        certificate = ServingCertificate(TlsSettings(), now=lambda: now)
        before = certificate.context.current
        now += datetime.timedelta(days=334)
        certificate.refresh()
        assert certificate.context.current is before
        now += datetime.timedelta(days=2)
        certificate.refresh()
        assert certificate.context.current is not before


class TestTls:
    async def test_nothing_older_than_1_2_by_default(self, serve: Any) -> None:
        served = await serve()
        await shown(served, maximum_version=ssl.TLSVersion.TLSv1_2)
        context = ServingCertificate(TlsSettings()).context.current
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2

    async def test_a_minimum_that_is_asked_for(self, serve: Any) -> None:
        served = await serve(certificate=ServingCertificate(TlsSettings(minimum_version="VersionTLS13")))
        await shown(served)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(served, maximum_version=ssl.TLSVersion.TLSv1_2)

    def test_ciphers_that_are_asked_for(self) -> None:
        suites = ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"]
        context = ServingCertificate(TlsSettings(cipher_suites=suites)).context.current
        older = [cipher["name"] for cipher in context.get_ciphers() if cipher["protocol"] != "TLSv1.3"]
        assert older == ["ECDHE-ECDSA-AES256-GCM-SHA384"]


@dataclass
class CertificateReader:
    """Lets everybody in and writes down which certificates they showed."""

    found: list[str] = field(default_factory=list)

    async def judge(
        self, method: str, path: str, headers: Mapping[str, Sequence[str]], peer_certificate: bytes | None
    ) -> Denial | None:
        name = ""
        if peer_certificate is not None:
            certificate = x509.load_der_x509_certificate(peer_certificate)
            name = str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
        self.found.append(name)
        return None


class TestClientCertificates:
    def context(self, authority: Authority, signer: Authority) -> ssl.SSLContext:
        signer.issue([Identity("anna", "anna", "people")])
        context = ssl.create_default_context(cafile=str(authority.folder / "ca.crt"))
        context.load_cert_chain(signer.folder / "anna.crt", signer.folder / "anna.key")
        return context

    async def test_one_may_be_shown_if_its_authority_is_known(
        self, serve: Any, files: TlsSettings, authority: Authority, tmp_path: Path
    ) -> None:
        known, unknown = Authority(tmp_path / "known"), Authority(tmp_path / "unknown")
        authorities: list[str] = []
        guard = CertificateReader()
        certificate = ServingCertificate(files, client_authorities=lambda: "".join(authorities))
        served = await serve(guard=guard, certificate=certificate)
        anna = self.context(authority, known)
        # 1. As long as nobody is trusted, nobody is asked.
        assert (await served.session(anna).get("/healthz")).status == 200
        # 2. The authorities come to be known.
        authorities.append((known.folder / "ca.crt").read_text())
        certificate.refresh()
        assert (await served.session(anna).get("/healthz")).status == 200
        # 3. Who shows none is welcome, who shows a wrong one is not.
        assert await served.ask("/healthz") == (200, "ok")
        with pytest.raises((aiohttp.ClientConnectionError, ssl.SSLError)):
            await served.session(self.context(authority, unknown)).get("/healthz")
        assert guard.found == ["", "anna", ""]
        # 4. And those who are not trusted any more are refused.
        authorities[:] = [(unknown.folder / "ca.crt").read_text()]
        certificate.refresh()
        with pytest.raises((aiohttp.ClientConnectionError, ssl.SSLError)):
            await served.session(anna).get("/healthz")

    def test_authorities_that_cannot_be_read_change_nothing(
        self, files: TlsSettings, caplog: pytest.LogCaptureFixture
    ) -> None:
        authorities = [""]
        certificate = ServingCertificate(files, client_authorities=lambda: authorities[0])
        before = certificate.context.current
        authorities[0] = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"
        certificate.refresh()
        assert certificate.context.current is before
        assert len(caplog.records) == 1
