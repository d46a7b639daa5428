"""The commands of `make sbom`, `make audit`, and of `make lint` about licences."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from images import archive_of
from images.components import COMPONENTS
from localcluster.errors import Problem
from localcluster.paths import REPOSITORY
from supply import licences, sbom
from supply.audit import COULD_NOT_RUN, audit
from supply.image_contents import contents_of
from supply.lock import OURS, read_lock


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return 0 without findings, 1 with findings, and 3 if it could not run."""
    parser = argparse.ArgumentParser(prog="supply", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    bills = commands.add_parser("sbom", help="write bills of materials as CycloneDX JSON")
    bills.add_argument("--output", type=Path, default=REPOSITORY / "dist" / "sbom", help="the output folder")
    bills.add_argument("--without-images", action="store_true", help="packages only")
    codes = "Exit code: 0 if no vulnerability is known, 1 if one is, 3 if the check was not possible."
    commands.add_parser("licences", help="check that every locked package has an accepted licence")
    auditing = commands.add_parser("audit", help="check all locked packages for known vulnerabilities", epilog=codes)
    auditing.add_argument("--database", type=Path, help="a zip or folder of OSV documents; default: query osv.dev")
    given = parser.parse_args(words)
    match given.command:
        case "audit":
            return audit(read_lock(), given.database, print)
        case "licences":
            return _check_licences()
    try:
        _write_bills(given.output, with_images=not given.without_images)
    except Problem as problem:
        print(f"ERROR: {problem}", file=sys.stderr)
        return COULD_NOT_RUN
    return 0


def _check_licences() -> int:
    found = [*licences.faults(read_lock(), licences.table()), *licences.contradictions(licences.table())]
    for fault in found:
        print(f"ERROR: {fault}", file=sys.stderr)
    return int(bool(found))


def _write_bills(folder: Path, *, with_images: bool) -> None:
    lock = read_lock()
    bills = {name: sbom.of_wheel(lock, name) for name in OURS}
    if with_images:
        for name in COMPONENTS:
            bills[f"pilotage-{name}-image"] = sbom.of_image(f"pilotage-{name}", contents_of(archive_of(name)))
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in bills.items():
        path = folder / f"{name}.cdx.json"
        path.write_text(sbom.text(document), encoding="utf-8")
        print(f"{path}: {len(document['components'])} components")
