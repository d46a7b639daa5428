"""The commands of `make release-check`, `make release-notes`, `make chart` and `make plugin`."""

import argparse
import subprocess
import sys
from collections.abc import Sequence

from localcluster.errors import Problem
from localcluster.paths import REPOSITORY
from release import changelog, chart, plugin, versions


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; 1 after an error, with its message."""
    given = _parser().parse_args(words)
    try:
        match given.command:
            case "check":
                return _say(list(versions.faults(given.tag, REPOSITORY)))
            case "notes":
                return _print_notes(given.tag)
            case "plugin":
                folder = REPOSITORY / "dist" / "plugin"
                for path in [*plugin.build(folder, given.base), plugin.wheel(folder)]:
                    print(path.relative_to(REPOSITORY))
            case _:
                chart.package(given.registry, REPOSITORY / "dist")
    except (Problem, ValueError) as problem:
        return _say([str(problem)])
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def _print_notes(tag: str) -> int:
    found = changelog.notes(changelog.text_of(), tag.removeprefix("v"))
    if not found:
        return _say([f"CHANGELOG.md has no section {tag.removeprefix('v')!r}"])
    print(found, end="")
    return 0


def _say(faults: list[str]) -> int:
    for fault in faults:
        print(f"ERROR: {fault}", file=sys.stderr)
    return int(bool(faults))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, purpose in (
        ("check", "compare a tag with the repository"),
        ("notes", "print the tag's section of the changelog"),
    ):
        commands.add_parser(name, help=purpose).add_argument("--tag", required=True, help="such as v1.2.3")
    commands.add_parser("chart", help="package the chart").add_argument("--registry", required=True)
    plugins = commands.add_parser(
        "plugin", help="build the kubectl plugin: the small one, krew's manifest of it, the wheel"
    )
    plugins.add_argument("--base", default="", help="where the archive will be downloaded from; default: this folder")
    return parser
