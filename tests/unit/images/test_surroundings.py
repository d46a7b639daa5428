from pathlib import Path

import pytest

from images import surroundings
from images.surroundings import arguments, certificates


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of certificates on a machine that has no other."""
    monkeypatch.setattr(surroundings, "SYSTEM_STORES", ())
    file = tmp_path / "ca.pem"
    file.write_text("certificate")
    return file


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"])
def test_the_certificates_that_the_environment_names_are_taken(variable: str, bundle: Path) -> None:
    assert certificates({variable: str(bundle)}) == bundle


def test_a_variable_that_names_no_file_is_passed_over(bundle: Path) -> None:
    assert certificates({"SSL_CERT_FILE": "/no/such/file", "PIP_CERT": str(bundle)}) == bundle


def test_the_store_of_the_system_is_taken_where_nothing_is_named(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "SYSTEM_STORES", ("/no/such/file", str(bundle)))
    assert certificates({}) == bundle


def test_a_machine_without_certificates_passes_none(bundle: Path) -> None:
    assert certificates({}) is None
    assert arguments({}, None) == {}


def test_only_what_is_set_and_known_is_passed_on_and_its_value_is_not_shown(bundle: Path) -> None:
    environment = {"PIP_INDEX_URL": "secret", "PIP_FIND_LINKS": "/wheels", "https_proxy": "p", "HTTP_PROXY": ""}
    assert arguments(environment, bundle) == {
        "PIP_INDEX_URL": None,
        "https_proxy": None,
        "SSL_CERT_FILE": "/run/secrets/ca",
        "PIP_CERT": "/run/secrets/ca",
    }
