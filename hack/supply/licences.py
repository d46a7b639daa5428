"""The licence of every locked package, and which licences we accept.

licences.yaml has the SPDX expression of each package. A new dependency is not accepted before a contributor has
looked; what an installed package says of itself is compared with it, so that a change of licence is seen.
"""

import re
from collections.abc import Iterator, Mapping
from email.message import Message
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import yaml

from supply.lock import OURS, Lock, canonical

TABLE = Path(__file__).with_name("licences.yaml")
# These permit redistribution in images and wheels of any licence.
SHIPPED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"),
    *("ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Zlib"),
}
# Tools that we run and never pass on.
TOOLS = SHIPPED | {"GPL-3.0-or-later"}

_SPELLINGS = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd 2-clause license": "BSD-2-Clause",
    "gpl-3.0+": "GPL-3.0-or-later",
    "mit license": "MIT",
    "modified bsd license": "BSD-3-Clause",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}


@cache
def table() -> Mapping[str, str]:
    """Return the licence of each package, as an SPDX expression."""
    found: dict[str, str] = yaml.safe_load(TABLE.read_text())
    return found


def parts(expression: str) -> set[str]:
    """Return the licences of an expression."""
    return set(re.split(r" (?:AND|OR) ", expression.replace("(", "").replace(")", "")))


def faults(lock: Lock, known: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong: packages without a licence in the table, and licences that we do not accept."""
    shipped = {package.name for package in lock.needed_by(*OURS)}
    for name in sorted({package.name for package in lock.packages} - set(OURS)):
        if name not in known:
            yield f"{name}: its licence is not in {TABLE.name}; look it up and add it"
        elif strange := parts(known[name]) - (SHIPPED if name in shipped else TOOLS):
            where = "images and wheels" if name in shipped else "tools"
            yield f"{name}: {', '.join(sorted(strange))} is not accepted for {where}"
    for name in sorted(set(known) - {package.name for package in lock.packages}):
        yield f"{name}: it is in {TABLE.name}, and no dependency any more"


def contradictions(known: Mapping[str, str]) -> Iterator[str]:
    """Yield installed packages that say something else about themselves than the table does."""
    for each in distributions():
        name = canonical(each.metadata["Name"])
        said = claimed(each.metadata)  # type: ignore[arg-type] # it is one, which is not nominated
        if name in known and said and not parts(said) <= parts(known[name]):
            yield f"{name} {each.version}: it says {said}, and {TABLE.name} says {known[name]}"


def claimed(metadata: Message) -> str:
    """Return what a package says of itself, in SPDX's words where we know them; empty if it says nothing."""
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classified = [
        line.split(" :: ")[-1] for line in metadata.get_all("Classifier", []) if line.startswith("License ::")
    ]
    said = str(metadata.get("License") or "") or " AND ".join(classified)
    return _SPELLINGS.get(said.lower(), said)
