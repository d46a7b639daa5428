"""Looks whether any locked package has a known weakness, and says so if that cannot be found out."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from localcluster.errors import Problem
from supply.advisories import Weakness, read_database
from supply.lock import OURS, Lock, Package

OSV = "https://api.osv.dev/v1/querybatch"
SECONDS = 20.0
TOO_OLD = timedelta(days=90)
NOTHING_KNOWN, WEAKNESSES, COULD_NOT_RUN = 0, 1, 3

Ask = Callable[[dict[str, Any]], Any]


def audit(lock: Lock, database: Path | None, say: Callable[[str], None]) -> int:
    """Compare all packages, with a database on this machine or by asking OSV; returns the exit code."""
    packages = [package for package in lock.packages if package.name not in OURS]
    try:
        found, source = _from_database(packages, database) if database else _from_osv(packages, ask_osv)
    except Problem as problem:
        say(f"NOT CHECKED: {problem}")
        return COULD_NOT_RUN
    for weakness in sorted(found):
        say(f"{weakness.package} {weakness.version}: {weakness.advisory} {weakness.summary}".rstrip())
    say(f"{len(packages)} packages compared with {source}: {len(found) or 'no'} known vulnerabilities")
    return WEAKNESSES if found else NOTHING_KNOWN


def _from_database(packages: Sequence[Package], path: Path) -> tuple[list[Weakness], str]:
    database = read_database(path)
    if not len(database):
        raise Problem(f"{path} has no advisory about any Python package")
    age = datetime.now(UTC) - database.newest
    if age > TOO_OLD:
        raise Problem(f"the newest advisory in {path} is {age.days} days old, and says nothing about today's packages")
    found = [each for package in packages for each in database.weaknesses(package.name, package.version)]
    return found, f"{path} of {database.newest:%Y-%m-%d}"


def _from_osv(packages: Sequence[Package], ask: Ask) -> tuple[list[Weakness], str]:
    queries = [
        {"package": {"name": package.name, "ecosystem": "PyPI"}, "version": package.version} for package in packages
    ]
    results = ask({"queries": queries}).get("results", ())
    if len(results) != len(packages):
        raise Problem(f"{OSV} answered {len(results)} of {len(packages)} queries")
    found = [
        Weakness(package.name, package.version, each["id"], "")
        for package, result in zip(packages, results, strict=True)
        for each in result.get("vulns", ())
    ]
    return found, "osv.dev"


def ask_osv(question: dict[str, Any]) -> Any:
    """Ask OSV's own service; Problem if it cannot be reached or makes no sense."""
    request = Request(OSV, json.dumps(question).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)
    except (URLError, OSError, ValueError) as error:
        raise Problem(
            f"{OSV} cannot be asked ({error}). Without a network, give a copy of the database: make audit "
            "ADVISORIES=all.zip, from https://osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip"
        ) from error
