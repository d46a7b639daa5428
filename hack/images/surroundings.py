"""The network settings of this machine for builds inside containers; none of them stay in the image."""

from collections.abc import Mapping
from pathlib import Path

# The Dockerfiles' secret "ca" appears here while they run a command.
CERTIFICATES_INSIDE = "/run/secrets/ca"

PASSED_ON = (
    "PIP_INDEX_URL",
    "PIP_DEFAULT_TIMEOUT",
    "UV_HTTP_TIMEOUT",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)

SYSTEM_STORES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian and its kin
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora and its kin
    "/etc/ssl/cert.pem",  # Alpine, macOS
)


def certificates(environment: Mapping[str, str]) -> Path | None:
    """The authorities this machine trusts, which may include one of a proxy."""
    named = (environment.get(variable) for variable in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"))
    return next((Path(file) for file in (*named, *SYSTEM_STORES) if file and Path(file).is_file()), None)


def arguments(environment: Mapping[str, str], trusted: Path | None) -> dict[str, str | None]:
    """The build arguments that let pip and uv reach their index from inside the build."""
    passed: dict[str, str | None] = {name: None for name in PASSED_ON if environment.get(name)}
    if trusted:
        passed |= {"SSL_CERT_FILE": CERTIFICATES_INSIDE, "PIP_CERT": CERTIFICATES_INSIDE}
    return passed
