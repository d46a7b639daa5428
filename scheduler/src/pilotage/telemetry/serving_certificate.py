"""The serving certificate and TLS settings, reloaded without a restart."""

import datetime
import ipaddress
import logging
import socket
import ssl
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

log = logging.getLogger(__name__)

LIFETIME = datetime.timedelta(days=365)
RENEWED_BEFORE_END = datetime.timedelta(days=30)

_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
# From Go's names to OpenSSL's. Those of TLS 1.3 cannot be configured, in Go neither: naming them has no effect.
_CIPHERS = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}


class CannotServe(Exception):
    """The server cannot start with its settings; the message says what to change."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The flags --tls-*."""

    certificate_file: str = ""
    key_file: str = ""
    minimum_version: str = ""
    cipher_suites: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Material:
    """The input of a context, which is rebuilt only if this changes."""

    certificate: bytes
    key: bytes
    client_authorities: str


class ServingCertificate:
    """A TLS context for a listener; new connections use the current files and client CAs."""

    def __init__(
        self,
        settings: TlsSettings,
        *,
        names: Sequence[str] = (),
        client_authorities: Callable[[], str] = str,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        if bool(settings.certificate_file) != bool(settings.key_file):
            raise CannotServe("--tls-cert-file and --tls-private-key-file require each other: set both or neither")
        self._settings = settings
        self._names = list(dict.fromkeys(["localhost", "127.0.0.1", socket.gethostname(), *names]))
        self._client_authorities = client_authorities
        self._now = now
        self._own: tuple[datetime.datetime, bytes, bytes] | None = None
        self._material = self._gather()
        self.context = _ReplaceableContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.current = self._build(self._material)
        self._fingerprint = _fingerprint(self._material)

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the certificate that new connections are shown."""
        return self._fingerprint

    def refresh(self) -> None:
        """Reload changed files and client CAs; if they are invalid, keep the current ones."""
        try:
            material = self._gather()
            if material != self._material:
                self.context.current = self._build(material)
                self._material, self._fingerprint = material, _fingerprint(material)
                log.info("reloaded the serving certificate or the client CAs")
        except CannotServe as problem:
            log.warning("the server keeps its current certificate: %s", problem)

    def _gather(self) -> _Material:
        settings = self._settings
        if not settings.certificate_file:
            return _Material(*self._own_pair(), self._client_authorities())
        try:
            certificate = Path(settings.certificate_file).read_bytes()
            key = Path(settings.key_file).read_bytes()
        except OSError as error:
            raise CannotServe(f"cannot read {error.filename}: {error.strerror}") from error
        return _Material(certificate, key, self._client_authorities())

    def _own_pair(self) -> tuple[bytes, bytes]:
        now = self._now()
        if self._own is None or self._own[0] - now < RENEWED_BEFORE_END:
            self._own = now + LIFETIME, *self_signed(self._names, now)
        return self._own[1:]

    def _build(self, material: _Material) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _restrict(context, self._settings)
        try:
            _load(context, material)
            if material.client_authorities:
                context.load_verify_locations(cadata=material.client_authorities)
                # Every CA in the bundle is trusted, also an intermediate one.
                context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
                context.verify_mode = ssl.CERT_OPTIONAL
        except (ssl.SSLError, ValueError) as error:
            files = self._settings.certificate_file, self._settings.key_file
            where = f"{files[0]} and {files[1]}" if files[0] else "the clients' authorities"
            raise CannotServe(f"cannot use {where}: {error}") from error
        return context


def _fingerprint(material: _Material) -> str:
    """Return the SHA-256 of the first certificate, which is the server's; OpenSSL has accepted it."""
    return x509.load_pem_x509_certificates(material.certificate)[0].fingerprint(hashes.SHA256()).hex()


class _ReplaceableContext(ssl.SSLContext):
    """The permanent context of a listener; each connection uses the current context."""

    current: ssl.SSLContext

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        return self.current.wrap_bio(*arguments, **named)


def self_signed(names: Sequence[str], now: datetime.datetime) -> tuple[bytes, bytes]:
    """Return a certificate for these names and addresses, and its key, both as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pilotage")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Valid from some time ago, for clients whose clock is slow.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(pem), private


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _load(context: ssl.SSLContext, material: _Material) -> None:
    # OpenSSL only reads files; this folder is private and deleted immediately.
    with tempfile.TemporaryDirectory(prefix="pilotage-") as folder:
        pair = Path(folder, "tls.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(material.key.rstrip() + b"\n" + material.certificate)
        # Without a password argument OpenSSL would prompt on the terminal.
        context.load_cert_chain(pair, password="")


def _restrict(context: ssl.SSLContext, settings: TlsSettings) -> None:
    version = settings.minimum_version or "VersionTLS12"
    if version not in _VERSIONS:
        raise CannotServe(f"unknown --tls-min-version {version!r}; known are {', '.join(_VERSIONS)}")
    if unknown := [name for name in settings.cipher_suites if name not in _CIPHERS]:
        raise CannotServe(f"unknown --tls-cipher-suites {', '.join(unknown)}; known are {', '.join(_CIPHERS)}")
    context.minimum_version = _VERSIONS[version]
    # No session resumption: every connection verifies its client certificate with the current CAs.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    if names := [_CIPHERS[name] for name in settings.cipher_suites if _CIPHERS[name]]:
        try:
            context.set_ciphers(":".join(names))
        except ssl.SSLError as error:
            raise CannotServe(f"this OpenSSL has none of --tls-cipher-suites {', '.join(names)}") from error
