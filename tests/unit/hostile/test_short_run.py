"""The short form of `make hostile`: a slow machine keeps to these bounds, and a quadratic sum does not."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from hostile.shapes import all_shapes

NODES = "100"
MOST_SECONDS = "20"  # of CPU for one shape; two or three are enough
# `make hostile` allows 50 ms, twice the time, and 64 MiB.
LONGEST_STANDSTILL = 1_000.0  # ms of CPU
LONGEST_IDLE = 2_000.0  # ms
MOST_FACTOR, MOST_MORE = 10.0, 50.0  # ms
MOST_MEMORY = 256.0  # MiB
SHORT = [name for name, shape in all_shapes().items() if shape.is_short]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Try all of them once, in processes of their own."""
    file = tmp_path_factory.mktemp("hostile") / "found.json"
    options = ["--short", "--repeat", "1", "--nodes", NODES, "--most-seconds", MOST_SECONDS, "--save", str(file)]
    same_code = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "hostile", *options]
    shown = subprocess.run(command, env=same_code, capture_output=True, text=True, check=False)
    print(shown.stdout, shown.stderr)
    return {each["shape"]: each for each in json.loads(file.read_text())}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("shape", SHORT)
def test_nobody_else_pays_for_it(shape: str, found: dict[str, Any]) -> None:
    trial = found[shape]
    told = json.dumps(trial, indent=1)
    assert not trial["trouble"], told
    assert trial["standstill_ms"] < LONGEST_STANDSTILL, told
    assert trial["idle_ms"] < LONGEST_IDLE, told
    slower = trial["after_ms"] > MOST_FACTOR * trial["usual_ms"] and trial["after_ms"] - trial["usual_ms"] > MOST_MORE
    assert not slower, told
    assert trial["grown_mib"] < MOST_MEMORY, told
