"""Validates plugin classes: method signatures, and types of declarations."""

from collections.abc import Callable, Iterator
from inspect import getattr_static, iscoroutinefunction, isfunction, signature
from typing import Any, cast

import msgspec

from pilotage.framework.api.caching import Caching, Per, Scope
from pilotage.framework.api.events import Retry
from pilotage.framework.api.plugin import POINTS, Permission, Plugin
from pilotage.framework.api.scoring import by_maximum
from pilotage.kinds.kube_object import KubeObject

# Methods that a plugin need not define.
OPTIONAL = frozenset(("add_pod", "remove_pod", "filter_nodes", "score_nodes", "unreserve", "pre_bind_pre_flight"))


class BrokenPlugin(Exception):
    """An unusable plugin; the message says where it is and what to change."""

    plugin = ""  # its name and profile, as far as known
    profile = ""


def checked(plugin: type[Plugin], origin: str) -> type[Plugin]:
    """Return the plugin if it is valid; BrokenPlugin lists all errors."""
    problems = [*_method_problems(plugin), *_declaration_problems(plugin)]
    if problems:
        raise BrokenPlugin("\n".join(f"{origin}: {plugin.name}{problem}" for problem in problems))
    return plugin


def _method_problems(plugin: type[Plugin]) -> Iterator[str]:
    for point in sorted(plugin.points()):
        interface = POINTS[point]
        for name, wanted in vars(interface).items():
            if name.startswith("_") or not isfunction(wanted):
                continue
            found = getattr_static(plugin, name)
            if found is not wanted:
                yield from _differences(name, found, wanted)
            elif name not in OPTIONAL:
                yield f" is a {interface.__name__} and must have the method {name}{_words(wanted)}"


def _differences(name: str, found: Any, wanted: Callable[..., Any]) -> Iterator[str]:
    """Yield why a method is not compatible with the interface."""
    should = f"must be {name}{_words(wanted)}"
    if not callable(found) and not isinstance(found, staticmethod | classmethod):
        yield f".{name} is not a method; it {should}"
        return
    function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    if iscoroutinefunction(function) != iscoroutinefunction(wanted):
        yield f".{name} must {'' if iscoroutinefunction(wanted) else 'not '}be written with async def"
    try:
        parameters = signature(function)
        # A static method has no `self`.
        places = len(signature(wanted).parameters) - isinstance(found, staticmethod)
        parameters.bind(*range(places))
    except ValueError:
        return  # written in C: unknown
    except TypeError:
        yield f".{name}{_words(function)} {should}"


def _declaration_problems(plugin: type[Plugin]) -> Iterator[str]:
    if (start := getattr_static(plugin, "start")) is not Plugin.start:
        yield from _differences("start", start, Plugin.start)
    if (normalize := getattr_static(plugin, "normalize", None)) is not None:
        yield from _differences("normalize", normalize, by_maximum)
    # Declarations can have any type.
    scope, retries, reads, permissions, caching = (
        cast(object, getattr(plugin, name)) for name in ("depends_on", "retry_on", "reads", "permissions", "caching")
    )
    if not isinstance(caching, Caching) or type(caching.per) is not Per:
        yield f".caching must be such as Caching(STATIC), not {caching!r:.60}"
    if not isinstance(scope, Scope):
        yield f".depends_on must be STATIC, NODE or CLUSTER, not {scope!r:.60}"
    if not isinstance(retries, tuple) or not all(isinstance(each, Retry) for each in retries):
        yield f".retry_on must be a tuple such as (NODE_ADDED,), not {retries!r:.60}"
    else:
        yield from _hint_problems(plugin, retries)
    if not isinstance(reads, tuple) or not all(map(_is_kind, reads)):
        yield f".reads must be a tuple of kinds such as (Service,), not {reads!r:.60}"
    else:
        yield from _kind_problems(reads)
    if not isinstance(permissions, tuple) or not all(isinstance(each, Permission) for each in permissions):
        yield f'.permissions must be a tuple such as (Permission("", "pods", ("delete",)),), not {permissions!r:.60}'


def _hint_problems(plugin: type[Plugin], retries: tuple[Retry, ...]) -> Iterator[str]:
    for retry in retries:
        if retry.hint and not callable(getattr(plugin, retry.hint, None)):
            yield f".retry_on names a hint: it must have the method {retry.hint}(self, pod, event, old, new)"


def _is_kind(each: object) -> bool:
    return isinstance(each, type) and issubclass(each, KubeObject) and each is not KubeObject and each.api.watched


def _kind_problems(kinds: tuple[type[KubeObject], ...]) -> Iterator[str]:
    for kind in kinds:
        try:
            msgspec.json.Decoder(kind)
        except (TypeError, NameError) as error:
            yield f".reads names {kind.__name__}, whose fields cannot be decoded: {error}"


def _words(method: Callable[..., Any]) -> str:
    return f"({', '.join(signature(method).parameters)})"
