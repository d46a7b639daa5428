"""Certificates of a cluster: one authority, one certificate per identity, named as kubeadm names them."""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=365)
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Identity:
    """Who a certificate speaks for: file name, user, group and the addresses it serves."""

    name: str
    user: str
    group: str
    addresses: tuple[str, ...] = ()


class Authority:
    """A certificate authority that lives in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject("kubernetes")
        builder = _unsigned(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), False)
        _write_certificate(folder / "ca.crt", builder.sign(self._key, hashes.SHA256()))
        write_key(folder / "ca.key", self._key)

    def issue(self, identities: Sequence[Identity]) -> None:
        """Write NAME.crt and NAME.key for each identity, good for client and server."""
        for identity in identities:
            key = ec.generate_private_key(ec.SECP256R1())
            builder = _unsigned(_subject(identity.user, identity.group), self._name, key.public_key())
            builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
            both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
            builder = builder.add_extension(both, critical=False)
            # Python 3.13 and newer verify strictly: who signed must be named.
            signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            builder = builder.add_extension(signer, critical=False)
            if identity.addresses:
                names = [_general_name(address) for address in identity.addresses]
                builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
            _write_certificate(self.folder / f"{identity.name}.crt", builder.sign(self._key, hashes.SHA256()))
            write_key(self.folder / f"{identity.name}.key", key)


def write_service_account_keys(folder: Path) -> None:
    """The pair that signs and checks service account tokens: sa.key and sa.pub."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    write_key(folder / "sa.key", key)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "sa.pub").write_bytes(public)


def write_key(path: Path, key: PrivateKey) -> None:
    """Write a private key that only its owner can read."""
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)


def _subject(user: str, group: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)


def _unsigned(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    # A margin before now: a clock that is set back a little does not invalidate the cluster.
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _write_certificate(path: Path, certificate: x509.Certificate) -> None:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
