"""Writes every generated file of the repository, or says which are stale."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from generate import (
    api_description,
    chart_values,
    dependencies,
    performance_chart,
    plugin_reference,
    printed_schemas,
    profile_crd,
    profile_document,
    rights,
)
from localcluster.paths import REPOSITORY

# Each file, and what makes its whole text. To add one, write a module beside this with a function that returns text.
FILES: dict[str, Callable[[], str]] = {
    "charts/pilotage/files/crds/schedulerprofiles.pilotage.dev.yaml": profile_crd.text,
    "charts/pilotage/files/plugin-rights.yaml": rights.plugins_text,
    "charts/pilotage/files/controller-rights.yaml": rights.controllers_text,
    "docs/openapi.json": api_description.text,
    "docs/operations.md": rights.document_text,
    "docs/schedulerprofile.md": profile_document.text,
    "docs/dependencies.md": dependencies.text,
    "docs/performance.svg": performance_chart.text,
    "docs/plugin-api.md": plugin_reference.text,
    "charts/pilotage/values.schema.json": chart_values.schema_text,
    "charts/pilotage/README.md": chart_values.readme_text,
    **printed_schemas.files(),
}


def main(words: Sequence[str] | None = None, root: Path = REPOSITORY) -> int:
    """Do what the command line says; the exit code is 1 if a check found stale files."""
    parser = argparse.ArgumentParser(prog="generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    is_check = parser.parse_args(words).check
    stale = [(root / name, text) for name, make in FILES.items() if _differs(root / name, text := make())]
    for path, text in stale:
        print(f"{'stale' if is_check else 'written'}: {path.relative_to(root)}")
        if not is_check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if is_check and stale:
        print("ERROR: generated files differ from what they are made from; run `make generate`", file=sys.stderr)
    return int(is_check and bool(stale))


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text(encoding="utf-8") != text
