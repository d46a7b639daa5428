"""The certificates verify against their authority and say who and where."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from localcluster.pki import Authority, Identity, write_service_account_keys


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    node = Identity("node", "system:node:n1", "system:nodes", ("n1", "172.30.0.11"))
    Authority(tmp_path).issue([node, Identity("admin", "kubernetes-admin", "system:masters")])
    return tmp_path


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        pytest.param("node", "CN=system:node:n1,O=system:nodes", id="a kubelet"),
        pytest.param("admin", "CN=kubernetes-admin,O=system:masters", id="the admin"),
    ],
)
def test_each_certificate_is_issued_by_the_authority_for_its_identity(folder: Path, name: str, subject: str) -> None:
    certificate = read(folder / f"{name}.crt")
    certificate.verify_directly_issued_by(read(folder / "ca.crt"))
    assert certificate.subject.rfc4514_string() == subject


def test_addresses_and_names_are_both_served(folder: Path) -> None:
    names = read(folder / "node.crt").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["172.30.0.11"]
    assert names.get_values_for_type(x509.DNSName) == ["n1"]


def test_a_strict_client_finds_who_signed(folder: Path) -> None:
    authority = read(folder / "ca.crt").extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    signer = read(folder / "node.crt").extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert signer.key_identifier == authority.digest


def test_private_keys_are_private(folder: Path) -> None:
    write_service_account_keys(folder)
    assert {key.stat().st_mode & 0o777 for key in folder.glob("*.key")} == {0o600}


def test_the_service_account_keys_belong_together(folder: Path) -> None:
    write_service_account_keys(folder)
    private = load_pem_private_key((folder / "sa.key").read_bytes(), password=None)
    assert private.public_key() == load_pem_public_key((folder / "sa.pub").read_bytes())
