"""Treats an extender of the configuration as a service that is called with credentials."""

from pilotage.config.types import Extender
from pilotage.model.outside_services import Service

_INSTEAD = "use a client certificate instead: tlsConfig with certSecretRef and keySecretRef"
_FILES = {"certFile": "cert_file", "keyFile": "key_file", "caFile": "ca_file"}


def service_of(extender: Extender) -> Service:
    """Return the service that an extender's entry names, with its credentials."""
    tls = extender.tls_config
    if tls is None:
        return Service(extender.url_prefix, "urlPrefix", other_way=_INSTEAD)
    files = tuple((f"tlsConfig.{name}", path) for name, field in _FILES.items() if (path := getattr(tls, field)))
    return Service(
        extender.url_prefix,
        "urlPrefix",
        files,
        inline=(("tlsConfig.keyData", "write keySecretRef: {name, key}"),) if tls.key_data else (),
        # A certificate is useless without its key, which is never sent, even to an unverified server.
        shows="a client certificate" if tls.key_file else "",
        other_way=_INSTEAD,
    )
