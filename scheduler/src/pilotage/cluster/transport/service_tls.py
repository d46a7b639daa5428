"""TLS for extenders and other services: their CAs, and our client certificates."""

import logging
import ssl
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from pilotage.cluster.credentials.credential_files import read_credential
from pilotage.model.outside_services import ACCOUNT, AUTHORITIES
from pilotage.model.redaction import without_password

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TLS:
    """TLS settings for an extender; data takes precedence over files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class BadTLS(ValueError):
    """Unusable certificates of an extender; the message says which."""


def tls_context(url: str, tls: TLS, *, enable_https: bool, directory: str | None = None) -> ssl.SSLContext:
    """Return the TLS context for an extender; as in kube-scheduler, `enableHTTPS` without a CA trusts any certificate.

    With a directory, files are only read below it.
    """
    url = without_password(url)
    try:
        tls = tls if directory is None else _with_data(tls, directory)
        if tls.ca_data:
            context = ssl.create_default_context(cadata=tls.ca_data.decode())
        else:
            context = ssl.create_default_context(cafile=tls.ca_file or None)
        _show_certificate(context, tls)
    except (OSError, ValueError) as error:
        raise BadTLS(f"the TLS configuration of extender {url} cannot be used: {error}") from error
    if tls.insecure or (enable_https and not (tls.ca_data or tls.ca_file)):
        log.warning("the certificate of extender %s is not verified: without a CA any server can impersonate it", url)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _with_data(tls: TLS, directory: str) -> TLS:
    """Return a copy with the content of its files."""

    def data(given: bytes, path: str, inside: str = directory) -> bytes:
        return given if given or not path else read_credential(path, inside)

    return replace(
        tls,
        cert_data=data(tls.cert_data, tls.cert_file),
        key_data=data(tls.key_data, tls.key_file),
        ca_data=data(tls.ca_data, tls.ca_file, ACCOUNT if tls.ca_file in AUTHORITIES else directory),
    )


def _show_certificate(context: ssl.SSLContext, tls: TLS) -> None:
    if not (tls.cert_data or tls.cert_file):
        return
    with tempfile.TemporaryDirectory() as folder:  # private; OpenSSL only reads files
        context.load_cert_chain(
            _as_file(Path(folder, "cert"), tls.cert_data) or tls.cert_file,
            _as_file(Path(folder, "key"), tls.key_data) or tls.key_file or None,
        )


def _as_file(path: Path, data: bytes) -> str:
    if data:
        path.write_bytes(data)
        return str(path)
    return ""
