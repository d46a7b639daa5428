"""The kind of object in a map, and Kubernetes' messages about unknown kinds."""

from collections.abc import Callable, Mapping
from typing import Any

from pilotage.config.types import API_VERSION, KIND
from pilotage.model.go_text import quoted

_GROUP = API_VERSION.split("/")[0]


def not_registered(kind: object, version: object) -> str:
    """Kubernetes' message about an unknown kind."""
    known = 'in scheme "pkg/runtime/scheme.go:111"'
    return f"no kind {quoted(str(kind))} is registered for version {quoted(str(version))} {known}"


def wrong_kind(plugin: str, args: object, is_known: Callable[[str], bool]) -> str:
    """The error if these are not arguments of the plugin, or ""; `is_known` returns whether a plugin has arguments."""
    reading = f"decoding args for plugin {plugin}: "
    if args is None:
        return ""
    if not isinstance(args, Mapping):
        return f"{reading}they must be a map"
    wanted, kind, version = f"{plugin}Args", args.get("kind"), args.get("apiVersion")
    for name, given in (("kind", kind), ("apiVersion", version)):
        if not isinstance(given, str | None):
            return f"{reading}{name} must be a string"
    if version and version.count("/") > 1:
        return f"{reading}unexpected GroupVersion string: {version}"
    return _unexpected(plugin, wanted, kind or wanted, _complete(version or ""), is_known)


def _unexpected(plugin: str, wanted: str, kind: str, version: str, is_known: Callable[[str], bool]) -> str:
    of_a_plugin = kind.endswith("Args") and is_known(kind.removesuffix("Args"))
    if version != API_VERSION or not (of_a_plugin or kind == KIND):
        return f"decoding args for plugin {plugin}: {not_registered(kind, version)}"
    if kind != wanted:
        return f"args for plugin {plugin} were not of type {wanted}.{_GROUP}, got {kind}.{_GROUP}"
    return ""


def _complete(version: str) -> str:
    group, _, number = version.rpartition("/")
    if not number and group in ("", _GROUP):
        return API_VERSION
    return f"{group}/{number}" if group else number


def without_kind(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without kind and apiVersion."""
    return {key: value for key, value in args.items() if key not in ("apiVersion", "kind")}
