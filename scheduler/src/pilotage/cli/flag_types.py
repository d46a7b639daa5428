"""How Go programs take their flags."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pilotage.config.durations import Duration  # imports pydantic, which is slow


class GoDuration(click.ParamType["Duration"]):
    """A length of time as Go writes it."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Duration":
        """Read `15s` and the like."""
        from pilotage.config.durations import Duration

        if isinstance(value, Duration):
            return value
        try:
            return Duration.parse(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a duration; write 15s, 1m30s or 0.5h", param, ctx)


class GoBool(click.ParamType[bool]):
    """A flag as Go takes it: alone, or with =true or =false."""

    name = "bool"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """Read true and false."""
        if isinstance(value, bool):
            return value
        known = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
        if str(value).lower() not in known:
            self.fail(f"{value!r} is neither true nor false", param, ctx)
        return known[str(value).lower()]


class Verbosity(click.IntRange):
    """How much is logged; `-v=2` is klog's way to write it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read 2 and =2."""
        number: Any = str(value).removeprefix("=")
        return super().convert(number, param, ctx)


class Names(click.ParamType[tuple[str, ...]]):
    """A list with commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Read a,b."""
        return value if isinstance(value, tuple) else names(str(value))


def names(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def go_bool(name: str, help_text: str, *, default: bool | None = None) -> Callable[[Any], Any]:
    """Add a flag that may be given with or without a value."""
    return click.option(
        name, type=GoBool(), is_flag=False, flag_value="true", default=default, help=help_text, metavar="BOOL"
    )


def options(*given: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add many options, in this order."""

    def add(function: Any) -> Any:
        for each in reversed(given):
            function = each(function)
        return function

    return add
