"""Reads the CAs of client certificates from files given by flags, otherwise from the cluster's ConfigMap."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from pilotage.cluster.credentials.certificate_trust import Authorities, FrontProxy, Trust
from pilotage.cluster.transport.api_calls import Api

log = logging.getLogger(__name__)

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


class UnusableTrust(Exception):
    """A CA bundle cannot be read; the message says which and why."""


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


_decode = msgspec.json.Decoder(_ConfigMap).decode


@dataclass(frozen=True, slots=True)
class TrustSettings:
    """The flags about client certificates; the front proxy's fields only apply with its file."""

    client_ca_file: str = ""
    requestheader_client_ca_file: str = ""
    front_proxy: FrontProxy = FrontProxy()  # noqa: RUF009 - it is frozen
    look_up: bool = True


async def read_trust(api: Api, settings: TrustSettings) -> Trust:
    """Return the current CAs; raises UnusableTrust, or the API's exception, if they cannot be read."""
    wanted = settings.look_up and not (settings.client_ca_file and settings.requestheader_client_ca_file)
    data = _data(await api.get(CONFIG_MAP)) if wanted else {}
    if settings.client_ca_file:
        clients = _from_file(settings.client_ca_file)
    else:
        clients = _from_text("client-ca-file", data.get("client-ca-file", ""))
    if settings.requestheader_client_ca_file:
        proxy = replace(settings.front_proxy, authorities=_from_file(settings.requestheader_client_ca_file))
    else:
        proxy = _front_proxy(data)
    return Trust(clients, proxy)


def _data(body: bytes) -> dict[str, str]:
    try:
        return _decode(body).data
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnusableTrust(f"{CONFIG_MAP} is not a ConfigMap: {error}") from error


def _front_proxy(data: dict[str, str]) -> FrontProxy:
    return FrontProxy(
        authorities=_from_text("requestheader-client-ca-file", data.get("requestheader-client-ca-file", "")),
        allowed_names=_names(data, "requestheader-allowed-names"),
        username_headers=_names(data, "requestheader-username-headers"),
        uid_headers=_names(data, "requestheader-uid-headers"),
        group_headers=_names(data, "requestheader-group-headers"),
        extra_prefixes=_names(data, "requestheader-extra-headers-prefix"),
    )


def _names(data: dict[str, str], key: str) -> Sequence[str]:
    try:
        return msgspec.json.decode(data.get(key, "[]").encode() or b"[]", type=list[str])
    except msgspec.MsgspecError as error:
        raise UnusableTrust(f"{key} is not a list of names: {error}") from error


def _from_file(path: str) -> Authorities:
    try:
        return _from_text(path, Path(path).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableTrust(f"cannot read {path}: {error}") from error


def _from_text(where: str, pem: str) -> Authorities:
    try:
        return Authorities(pem)
    except ValueError as error:
        raise UnusableTrust(f"{where} contains no certificates: {error}") from error
