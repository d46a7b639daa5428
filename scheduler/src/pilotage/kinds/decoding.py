"""Decodes plain data of the API or of files into the objects that scheduling uses."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.node import Node, NodeObject
from pilotage.model.pod import Pod, PodObject
from pilotage.model.quantity import InvalidQuantity


class Undecodable(ValueError):
    """Data that cannot be decoded; the message says where and why."""


def decode(manifest: Mapping[str, Any], kind: type[Any]) -> Pod | Node | KubeObject:
    """Return the object of a manifest; its quantities are parsed as well, so that invalid ones are reported here."""
    try:
        found = _converted(manifest, kind)
        if kind is NodeObject:
            return Node(found)
        if kind is PodObject:
            pod = Pod(found)
            _ = pod.requests, pod.usage
            return pod
    except (msgspec.ValidationError, InvalidQuantity) as error:
        raise Undecodable(str(error)) from None
    return found  # type: ignore[no-any-return]  # one of the other kinds


def _converted(manifest: Mapping[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(manifest, kind)
    except msgspec.ValidationError:  # possibly because of opaque parameters or a null, which few objects have
        try:
            return _from_json(manifest, kind)
        except msgspec.ValidationError:
            return _from_json(without_nulls(manifest), kind)


def _from_json(manifest: Any, kind: type[Any]) -> Any:
    """Return the object as JSON gives it; only there is a field that is kept as it was written."""
    return msgspec.json.decode(msgspec.json.encode(manifest), type=kind)


def without_nulls(value: Any) -> Any:
    """Return data without nulls, which the API treats as absent fields."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value
