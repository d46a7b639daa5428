"""Watches every method call of custom plugins; our own plugins are called directly.

The methods of a class are replaced once, when a profile with it is built. A BaseException that is not an Exception,
such as SystemExit, becomes a failure of the plugin.
"""

import asyncio
import gc
import traceback
from collections.abc import Awaitable, Callable, Generator, Iterable
from functools import partial, wraps
from inspect import getattr_static, isfunction
from types import CodeType
from typing import Any

from pilotage.framework.api.plugin import Filter, Plugin, Score
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.framework.runtime.call_watch import WATCH, CallSite, line_of

OURS = "pilotage."
LOOPS: dict[str, tuple[str, type[Plugin]]] = {
    "filter_nodes": ("filter", Filter),
    "score_nodes": ("score", Score),
}  # called for many nodes, one by one
ONE_BY_ONE = ("filter", "score")
AWAITED = ("pre_bind", "bind")
LONGEST_AWAIT = 600.0  # seconds for a whole asynchronous call, the default time-out of volume binding

Method = Callable[..., Any]


def is_foreign(kind: type) -> bool:
    """Return whether a class is a custom plugin, not part of this package."""
    return not kind.__module__.startswith(OURS)


def guard(plugins: Iterable[Plugin]) -> None:
    """Watch every call of the custom plugins among these."""
    for plugin in plugins:
        if is_foreign(type(plugin)):
            WATCH.expect_calls()
            guard_class(type(plugin))


def guard_class(kind: type[Plugin]) -> None:
    """Watch every call of plugins of this class; idempotent."""
    for name in dir(kind):
        method = getattr_static(kind, name)
        if _is_asked(name, method):
            setattr(kind, name, _guarded(name, method))
    for name, (one_by_one, base) in LOOPS.items():
        inherited = getattr(kind, name, None)
        if issubclass(kind, base) and inherited is getattr(base, name):
            setattr(kind, name, _guarded(name, inherited, one_by_one))


def _is_asked(name: str, method: object) -> bool:
    """Return whether the engine may call this method: hints may have any public name."""
    if not isfunction(method) or method.__module__.startswith((OURS, "pydantic")):
        return False
    return not name.startswith("_") and not hasattr(method, "is_guarded")


def _guarded(name: str, method: Any, point: str = "") -> Method:
    found = (_awaited if name in AWAITED else _called)(method, CallSite(point or name))
    found = _on_one_node(method, found) if name in ONE_BY_ONE else found
    found.is_guarded = True  # type: ignore[attr-defined]
    return found


def _on_one_node(method: Method, watched: Method) -> Method:
    """Return a fast path for methods mostly called from a loop over nodes, which is itself the watched call."""
    watch = WATCH

    @wraps(method)
    def call(self: Any, cycle: Any, pod: Any, node: Any = None, /, **named: Any) -> Any:
        if watch.call is not None and not named:
            return method(self, cycle, pod, node)
        return watched(self, cycle, pod, **named) if named else watched(self, cycle, pod, node)

    REGIONS.add(_code(call))
    return call


def _called(method: Method, site: CallSite) -> Method:
    watch = WATCH

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.call is not None:  # part of another call, which it is timed with
            return method(self, *args, **kwargs)
        watch.enter(site, self, args)
        try:
            answer = method(self, *args, **kwargs)
        except MemoryError as error:
            watch.leave(site)
            raise _out_of_memory(self, error) from None
        except Exception as error:
            watch.leave(site)
            if watch.is_doomed():  # and converted the abort to another exception
                raise watch.failed(site, self, error) from error
            watch.complain(site, self, error)
            raise
        except BaseException as error:
            watch.leave(site)
            found = watch.failed(site, self, error)
            watch.complain(site, self, found)
            raise found from error
        watch.leave(site)
        if watch.is_doomed():  # and swallowed the abort
            raise watch.failed(site, self, None)
        site.worked = True
        return answer

    REGIONS.add(_code(call))
    return call


def _out_of_memory(plugin: Any, error: MemoryError) -> PluginFailed:
    """Return the error to raise, after everything that the plugin held is released."""
    where = line_of(error, plugin)
    traceback.clear_frames(error.__traceback__)
    error.__traceback__ = None
    gc.collect()
    return PluginFailed(f"MemoryError: it asked for more memory than the scheduler may use{where}")


def _awaited(method: Method, site: CallSite) -> Method:
    @wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = asyncio.timeout(LONGEST_AWAIT)
        try:
            async with scope:
                return await _Steps(self, site, partial(method, self, *args, **kwargs), args)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise PluginFailed(f"it did not finish within {LONGEST_AWAIT:g}s in {site.point}") from error

    return call


class _Steps:
    """An asynchronous call: each step between two awaits is a watched region."""

    def __init__(self, plugin: Any, site: CallSite, begin: Callable[[], Awaitable[Any]], args: tuple[Any, ...]) -> None:
        self._plugin, self._site, self._begin, self._args = plugin, site, begin, args
        self._thrown: BaseException | None = None  # the cancellation of our task, or a failure that it awaited

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._step(self._first)
        next_step: Callable[[], Any] = partial(steps.send, None)
        while True:
            try:
                awaited = self._step(next_step)
            except StopIteration as end:
                return end.value
            try:
                next_step = partial(steps.send, (yield awaited))
            except BaseException as error:
                self._thrown = error
                next_step = partial(steps.throw, error)

    def _first(self) -> Any:
        return self._begin().__await__()

    def _step(self, step: Callable[[], Any]) -> Any:
        watch, site, plugin = WATCH, self._site, self._plugin
        if watch.call is not None:
            return step()
        watch.enter(site, plugin, self._args)
        try:
            answer = step()
        except StopIteration:  # how a coroutine returns
            watch.leave(site)
            if watch.is_doomed():
                raise watch.failed(site, plugin, None) from None
            raise
        except MemoryError as error:
            watch.leave(site)
            raise _out_of_memory(plugin, error) from None
        except Exception as error:
            watch.leave(site)
            if watch.is_doomed():
                raise watch.failed(site, plugin, error) from error
            raise
        except BaseException as error:
            watch.leave(site)
            if not watch.is_doomed() and self._is_wanted(error):
                raise
            raise watch.failed(site, plugin, error) from error
        watch.leave(site)
        if watch.is_doomed():
            raise watch.failed(site, plugin, None)
        return answer

    def _is_wanted(self, error: BaseException) -> bool:
        """Return whether the call ends on purpose: our task was cancelled, or is discarded."""
        if isinstance(error, GeneratorExit):
            return error is self._thrown
        task = asyncio.current_task()
        return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _code(function: Any) -> CodeType:
    code: CodeType = function.__code__
    return code


REGIONS = {_Steps._step.__code__, type(WATCH).enter.__code__, type(WATCH).leave.__code__}
