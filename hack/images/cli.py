"""Build, push and export the images of Pilotage."""

import argparse
import sys
from pathlib import Path

from images.archives import export
from images.build import build
from images.components import COMPONENTS, DEFAULT_TAG
from images.order import Wishes
from images.push import install_command, push, version
from images.registry import parse_address
from localcluster.errors import Problem


def main(arguments: list[str]) -> int:
    """Run the command; return 1 after printing a problem."""
    options = _parser().parse_args(arguments)
    try:
        VERBS[options.verb](options)
    except Problem as problem:
        print(f"images: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("images: interrupted; run it again to continue from the layers already built", file=sys.stderr)
        return 130
    return 0


def _build(options: argparse.Namespace) -> None:
    for built in build(options.components or list(COMPONENTS), _wishes(options, options.tag), options.archive_dir):
        print(f"{built.image}  {built.archive}")


def _push(options: argparse.Namespace) -> None:
    if not options.registry:
        raise Problem("name the registry: make images push REGISTRY=registry.example.com/team TAG=1.0.0")
    address, tag = parse_address(options.registry), options.tag or version()
    for pushed in push(options.components or list(COMPONENTS), _wishes(options, DEFAULT_TAG), address, tag):
        print(f"{pushed.image}  {pushed.digest}")
    print(f"\nInstall them with:\n  {install_command(address, tag)}")


def _export(options: argparse.Namespace) -> None:
    print(export(options.image))


VERBS = {"build": _build, "push": _push, "export": _export}


def _wishes(options: argparse.Namespace, tag: str) -> Wishes:
    platforms = tuple(options.platform.split(",")) if options.platform else ()
    return Wishes(tag=tag, base=options.base, platforms=platforms)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m images", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    building = verbs.add_parser("build", help="build images and write an archive of each")
    building.add_argument("--tag", default=DEFAULT_TAG, help="default: %(default)s")
    building.add_argument("--archive-dir", type=Path, metavar="DIR", help="also copy the archives to this folder")
    pushing = verbs.add_parser("push", help="build images and push them to a registry")
    pushing.add_argument("--registry", metavar="HOST/PATH", help="the target, such as registry.example.com/team")
    pushing.add_argument("--tag", help="default: the version of Pilotage, as in the chart")
    for verb in (building, pushing):
        verb.add_argument("components", nargs="*", metavar="|".join(COMPONENTS), help="default: all")
        verb.add_argument("--base", metavar="IMAGE", help="another Python base image")
        verb.add_argument(
            "--platform", metavar="OS/ARCH,...", help="default: that of this machine; more than one needs buildx"
        )
    exporting = verbs.add_parser("export", help="print the path of an existing image's archive")
    exporting.add_argument("image")
    return parser
