"""The fence around plugins: an exception or invalid result fails only one attempt of one pod.

plugin_guard aborts calls that take too long, and converts a BaseException to PluginFailed; this module catches it.
"""

from types import TracebackType
from typing import Any

from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.runtime.call_watch import line_of


class CycleFailed(PluginFailed):
    """An error that ends an attempt; the text is kube-scheduler's, with the plugin's name."""

    def __init__(self, text: str, plugin: str = "") -> None:
        super().__init__(text)
        self.plugin = plugin


class fence:  # noqa: N801 - it reads like a function
    """Converts every exception in a `with` block to CycleFailed; the text has placeholders for plugin and error."""

    __slots__ = ("_plugin", "_text")

    def __init__(self, text: str, plugin: Plugin) -> None:
        self._text, self._plugin = text, plugin

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise failure(self._text, self._plugin, error) from error


def failure(text: str, plugin: Plugin, error: Exception | str) -> CycleFailed:
    """Return the CycleFailed for a plugin's error; an unexpected error is shown with its type and line."""
    if isinstance(error, str):
        return CycleFailed(text.format(plugin.name, error), plugin.name)
    expected = isinstance(error, PluginFailed)
    details = str(error) if expected else f"{type(error).__name__}: {error}{line_of(error, plugin)}"
    found = CycleFailed(text.format(plugin.name, details), plugin.name)
    if isinstance(error, PluginFailed):
        found.cost, found.rest = error.cost, error.rest
    return found


def expect(answer: object, *kinds: type) -> None:
    """Raise PluginFailed for a result of any other type."""
    if not isinstance(answer, kinds):
        raise PluginFailed(unexpected(answer))


def unexpected(answer: Any) -> str:
    """Return the message about an invalid result."""
    if isinstance(answer, Rejection):
        return answer.message
    return f"it returned {type(answer).__name__} {answer!r:.80}, which is not valid here"
