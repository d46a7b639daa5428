"""The only fence around plugins: an exception or invalid result of one fails one attempt of one pod.

plugin_guard aborts a call that takes too long, and turns a BaseException into PluginFailed; here it is caught.
"""

from types import TracebackType
from typing import Any

from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.runtime.call_watch import line_of


class CycleFailed(PluginFailed):
    """An attempt that ended with an error; the text is kube-scheduler's, with the plugin's name."""

    def __init__(self, text: str, plugin: str = "") -> None:
        super().__init__(text)
        self.plugin = plugin


class fence:  # noqa: N801 - it reads like a function
    """Turns whatever is raised in a `with` into CycleFailed; the text has placeholders for the plugin and the error."""

    __slots__ = ("_plugin", "_text")

    def __init__(self, text: str, plugin: Plugin) -> None:
        self._text, self._plugin = text, plugin

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise failure(self._text, self._plugin, error) from error


def failure(text: str, plugin: Plugin, error: Exception | str) -> CycleFailed:
    """Return the error of a cycle in which a plugin failed; an unexpected one with its type and line."""
    if isinstance(error, str):
        return CycleFailed(text.format(plugin.name, error), plugin.name)
    expected = isinstance(error, PluginFailed)
    told = str(error) if expected else f"{type(error).__name__}: {error}{line_of(error, plugin)}"
    found = CycleFailed(text.format(plugin.name, told), plugin.name)
    if isinstance(error, PluginFailed):
        found.cost, found.rest = error.cost, error.rest
    return found


def expect(answer: object, *kinds: type) -> None:
    """Reject a result of any other type."""
    if not isinstance(answer, kinds):
        raise PluginFailed(unexpected(answer))


def unexpected(answer: Any) -> str:
    """Return the message about an invalid result."""
    if isinstance(answer, Rejection):
        return answer.message
    return f"it returned {type(answer).__name__} {answer!r:.80}, which is not valid here"
