"""The command line: which images, from what, and where to."""

import argparse
import sys
from pathlib import Path

from cluster.errors import Problem
from images.archives import export
from images.build import build
from images.components import COMPONENTS, DEFAULT_TAG
from images.order import Wishes


def main(arguments: list[str]) -> int:
    """Do what the arguments ask; 1 after a problem, told in its own words."""
    options = _parser().parse_args(arguments)
    try:
        if options.verb == "export":
            print(export(options.image))
        else:
            _build(options)
    except Problem as problem:
        print(f"images: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("images: interrupted; run it again to go on from the layers already made", file=sys.stderr)
        return 130
    return 0


def _build(options: argparse.Namespace) -> None:
    platforms = tuple(options.platform.split(",")) if options.platform else ()
    wishes = Wishes(tag=options.tag, base=options.base, platforms=platforms)
    for built in build(options.components or list(COMPONENTS), wishes, options.archive_dir):
        print(f"{built.image}  {built.archive}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m images", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    building = verbs.add_parser("build", help="build images and write an archive of each")
    building.add_argument("components", nargs="*", metavar="|".join(COMPONENTS), help="default: all of them")
    building.add_argument("--tag", default=DEFAULT_TAG, help="default: %(default)s")
    building.add_argument("--base", metavar="IMAGE", help="a Python image to build on, instead of the usual one")
    building.add_argument("--platform", metavar="OS/ARCH,...", help="default: this machine's; several need buildx")
    building.add_argument("--archive-dir", type=Path, metavar="DIR", help="put the archives here too")
    exporting = verbs.add_parser("export", help="print the path of an archive of an image that exists")
    exporting.add_argument("image")
    return parser
