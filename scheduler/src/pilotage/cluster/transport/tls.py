"""The CAs of a connection, and the client certificate."""

import ssl
import tempfile
from dataclasses import dataclass

from pilotage.cluster.transport.api_errors import NoAccess


@dataclass(frozen=True, slots=True)
class Trust:
    """The trusted CAs (by default the system's), and the name that a certificate must contain."""

    authorities: bytes = b""
    server_name: str = ""
    is_insecure: bool = False


def tls_context(trust: Trust, certificate: bytes = b"") -> ssl.SSLContext:
    """Create the TLS context; a client certificate is followed by its private key."""
    context = _verifying(trust.authorities)
    if trust.is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if certificate:
        _show(context, certificate)
    return context


def _verifying(authorities: bytes) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=authorities.decode("ascii") if authorities else None)
    except (ssl.SSLError, ValueError) as error:
        problem = "the certificate authority contains no PEM certificates"
        raise NoAccess(f"{problem}; use the file that begins with -----BEGIN CERTIFICATE-----") from error
    # Like every Go client of Kubernetes: CAs of clusters often violate the strict rules, and a trusted CA need not be
    # a root.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _show(context: ssl.SSLContext, certificate: bytes) -> None:
    # OpenSSL only reads files; this one is private and deleted immediately.
    try:
        with tempfile.NamedTemporaryFile(prefix="pilotage-") as file:
            file.write(certificate)
            file.flush()
            # Without a password argument OpenSSL would prompt on the terminal.
            context.load_cert_chain(file.name, password="")
    except (ssl.SSLError, ValueError) as error:
        problem = "the client certificate and its key cannot be used"
        raise NoAccess(f"{problem}; both must be PEM, belong together and have no password") from error
    except OSError as error:
        problem = f"no temporary file can be made for the client certificate ({error})"
        raise NoAccess(f"{problem}; set $TMPDIR to a writable folder") from error
