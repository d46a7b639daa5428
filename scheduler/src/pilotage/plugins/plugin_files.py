"""Plugins in files: a file is a module, and every plugin class in it is a plugin."""

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isabstract
from itertools import count
from pathlib import Path
from types import ModuleType

from pilotage.framework.plugin import Plugin
from pilotage.plugins.soundness import BrokenPlugin, checked

_numbers = count(1)


def plugin_files(folder: Path) -> list[Path]:
    """Return the files of a folder that should hold plugins: not tests, and none that begins with an underscore."""
    files = sorted(folder.glob("*.py"))
    return [file for file in files if not file.name.startswith(("_", "test_")) and file.name != "conftest.py"]


def plugins_in_file(file: Path) -> list[type[Plugin]]:
    """Return the plugins of a file, of which there is at least one; BrokenPlugin tells what is wrong."""
    found = list(plugins_of(load(file), str(file)))
    if not found:
        raise BrokenPlugin(
            f"{file}: no plugin in it; a plugin is a class with a base such as Filter or Score "
            "from pilotage.framework.plugin"
        )
    return found


def plugins_of(module: ModuleType, origin: str) -> Iterator[type[Plugin]]:
    """Yield the plugins that a module defines itself."""
    for found in list(vars(module).values()):
        own = isinstance(found, type) and issubclass(found, Plugin) and found.__module__ == module.__name__
        if own and found.points() and not isabstract(found) and not found.__name__.startswith("_"):
            yield checked(found, origin)


def load(file: Path) -> ModuleType:
    """Import a file, whatever its folder is; BrokenPlugin tells the line that fails."""
    number = next(_numbers)  # two folders may have files of one name
    spec = spec_from_file_location(f"pilotage_plugin_{number}_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # where annotations are looked up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise BrokenPlugin(f"{file}{line}: syntax error: {error.msg}") from error
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {first_line(error)}"
        raise BrokenPlugin(f"{file}{line_in(file, error)}: it cannot be imported: {problem}") from error
    return module


def line_in(file: Path, error: BaseException) -> str:
    """Return the last line of the file that an error went through, as :12, or nothing."""
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def first_line(error: BaseException) -> str:
    """Return what an error says; what follows its first line is for those who know its source."""
    return str(error).partition("\n")[0]
