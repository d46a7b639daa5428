"""The user of a client certificate: its own subject, or, from the front proxy, the user in the headers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import unquote

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from pilotage.model.users import User

__all__ = ["Authorities", "FrontProxy", "Headers", "Trust", "User"]

Headers = Mapping[str, Sequence[str]]


class Authorities:
    """A bundle of trusted CA certificates."""

    def __init__(self, pem: str = "") -> None:
        self.pem = pem
        self._certificates = x509.load_pem_x509_certificates(pem.encode()) if pem.strip() else []

    def signed(self, certificate: x509.Certificate) -> bool:
        """Return whether one of them directly signed this certificate."""
        return any(_signed(certificate, authority) for authority in self._certificates)


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """The proxies that may name users in headers, and the headers."""

    authorities: Authorities = field(default_factory=Authorities)
    allowed_names: Sequence[str] = ()  # none: any name that the CA signed
    username_headers: Sequence[str] = ("x-remote-user",)
    uid_headers: Sequence[str] = ()
    group_headers: Sequence[str] = ("x-remote-group",)
    extra_prefixes: Sequence[str] = ("x-remote-extra-",)

    def user(self, headers: Headers) -> User | None:
        """Return the user in the headers."""
        name = _first(headers, self.username_headers)
        if not name:
            return None
        groups = tuple(group for header in self.group_headers for group in headers.get(header.lower(), ()))
        extra = {
            unquote(header.removeprefix(prefix.lower())): values
            for prefix in self.extra_prefixes
            for header, values in headers.items()
            if header.startswith(prefix.lower())
        }
        return User(name, _first(headers, self.uid_headers), groups, extra)


@dataclass(frozen=True, slots=True)
class Trust:
    """All CAs of client certificates."""

    clients: Authorities = field(default_factory=Authorities)
    front_proxy: FrontProxy = field(default_factory=FrontProxy)

    @property
    def pem(self) -> str:
        """All authorities, for the handshake."""
        return "\n".join(pem for pem in (self.clients.pem, self.front_proxy.authorities.pem) if pem)

    def user(
        self,
        certificate: bytes,
        headers: Headers,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> User | None:
        """Return the user of a certificate; the handshake has verified it, possibly long ago."""
        shown = x509.load_der_x509_certificate(certificate)
        if not shown.not_valid_before_utc <= now() <= shown.not_valid_after_utc:
            return None
        name = _values(shown, NameOID.COMMON_NAME)[-1:]
        proxy = self.front_proxy
        if proxy.authorities.signed(shown) and (not proxy.allowed_names or set(name) & set(proxy.allowed_names)):
            user = proxy.user(headers)
            if user is not None:
                return user
        # A certificate of the front proxy's CA identifies no user without headers: its subject is not a user.
        if not name or not name[0] or not self.clients.signed(shown):
            return None
        return User(name[0], groups=tuple(_values(shown, NameOID.ORGANIZATION_NAME)))


def _first(headers: Headers, names: Sequence[str]) -> str:
    return next((value for name in names for value in headers.get(name.lower(), ())[:1] if value), "")


def _values(certificate: x509.Certificate, kind: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(kind)]


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
