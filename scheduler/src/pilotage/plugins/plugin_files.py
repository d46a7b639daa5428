"""Loads plugins from files: each file is a module, and each plugin class in it is a plugin."""

import linecache
import sys
from collections.abc import Iterator
from inspect import getattr_static
from itertools import count
from pathlib import Path
from types import ModuleType

from pilotage.framework.api.plugin import Plugin
from pilotage.plugins.soundness import BrokenPlugin, checked

_numbers = count(1)


def plugin_files(folder: Path) -> list[Path]:
    """Return the plugin files of a folder, without tests and names that start with an underscore."""
    files = sorted(folder.glob("*.py"))
    return [file for file in files if not file.name.startswith(("_", "test_")) and file.name != "conftest.py"]


def plugins_in_file(file: Path) -> list[type[Plugin]]:
    """Return at least one plugin of a file; BrokenPlugin if that fails."""
    try:
        return plugins_in_text(str(file), file.read_bytes())
    except OSError as error:
        raise BrokenPlugin(f"{file}: it cannot be read: {error.strerror}") from error


def plugins_in_text(path: str, text: str | bytes) -> list[type[Plugin]]:
    """Return the plugins in a text with this path; BrokenPlugin if that fails."""
    found = list(plugins_of(load(path, text), path))
    if not found:
        raise BrokenPlugin(
            f"{path}: no plugin in it; a plugin is a class with a base such as Filter or Score from pilotage.plugin"
        )
    return found


def plugins_of(module: ModuleType, origin: str) -> Iterator[type[Plugin]]:
    """Yield the plugins that a module, or a package, defines itself."""
    inside = f"{module.__name__}."
    for found in list(vars(module).values()):
        own = (
            isinstance(found, type)
            and issubclass(found, Plugin)
            and (found.__module__ == module.__name__ or found.__module__.startswith(inside))
        )
        if own and found.points() and not _is_abstract(found) and not found.__name__.startswith("_"):
            yield checked(found, origin)


def _is_abstract(plugin: type[Plugin]) -> bool:
    """Return whether a class has abstract methods."""
    return any(getattr(getattr_static(plugin, name), "__isabstractmethod__", False) for name in dir(plugin))


def load(path: str, text: str | bytes) -> ModuleType:
    """Import a text; BrokenPlugin names the line that fails."""
    number = next(_numbers)  # several folders may have files of one name, and a file may change
    module = ModuleType(f"pilotage_plugin_{number}_{Path(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # annotations are resolved there
    try:
        exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102 - that is what a plugin is
    except (SyntaxError, ValueError) as error:
        raise BrokenPlugin(_about_syntax(path, error)) from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        problem = f"{type(error).__name__}: {first_line(error)}{_where_it_is_now(error)}"
        raise BrokenPlugin(f"{path}{line_in(path, error)}: it cannot be imported: {problem}") from error
    if isinstance(text, str):
        # Tracebacks read the text from here, since there is no file.
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    return module


def _where_it_is_now(error: BaseException) -> str:
    """Return a hint if a plugin imports from a module of ours that has moved."""
    moved = isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("pilotage.")
    return "; import it from pilotage.plugin, which has all that a plugin needs" if moved else ""


def _about_syntax(path: str, error: SyntaxError | ValueError) -> str:
    line = line_in(path, error)
    if line or not isinstance(error, SyntaxError):
        # The error comes from running the file, not from its syntax.
        return f"{path}{line}: it cannot be imported: {type(error).__name__}: {first_line(error)}"
    return f"{path}{f':{error.lineno}' if error.lineno else ''}: syntax error: {error.msg}"


def line_in(path: str, error: BaseException) -> str:
    """Return the last line of the file that an error went through, as :12, or nothing."""
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return str(error).partition("\n")[0]
