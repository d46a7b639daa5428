"""What a container's limit means for the process: a plugin that wants more fails, and nobody is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from pilotage.app.memory_limit import container_limit

EATS = """
import sys
from pathlib import Path
from pilotage.app.memory_limit import limit_memory
from pilotage.framework.api.plugin import Score
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod

class Eats(Score):
    def score(self, cycle, pod, node):
        if pod.name == "hungry":
            kept = []
            while True:
                kept.append(bytearray(1 << 20))
        if pod.name == "greedy":
            return len([0] * (1 << 28))  # 2 GiB
        return 1

folder = Path(sys.argv[1])
print(limit_memory(folder, folder / "own") >> 20)
scheduler = FakeScheduler(Eats(), cluster=FakeCluster([make_node("n1"), make_node("n2")]))
for name in ("greedy", "hungry", "greedy", "plain"):
    outcome = scheduler.schedule(make_pod(name))
    print(getattr(outcome, "message", "placed"))
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak.split()[1]) >> 10)
"""


def test_a_plugin_that_wants_more_than_there_is_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/\n")
    (tmp_path / "memory.max").write_text(f"{512 << 20}\n")
    ran = subprocess.run(
        [sys.executable, "-c", EATS, tmp_path], check=True, timeout=120, capture_output=True, text=True
    )
    limit, *told, peak = ran.stdout.splitlines()
    assert limit == str(int(512 * 0.9))
    failed = 'plugin "Eats" failed with: MemoryError: it asked for more memory than the scheduler may use (<string>:'
    assert [failed in each for each in told] == [True, True, True, False]
    assert told[3] == "placed"
    assert int(peak) < 512


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        pytest.param("0::/\n", {"memory.max": "1000\n"}, 1000, id="version 2, in a container"),
        pytest.param("0::/\n", {"memory.max": "max\n"}, None, id="no limit"),
        pytest.param("0::/\n", {}, None, id="no file"),
        pytest.param(
            "0::/pod/own\n",
            {"pod/own/memory.max": "max\n", "pod/memory.max": "900\n", "memory.max": "1000\n"},
            900,
            id="the lowest of all that it is in",
        ),
        pytest.param(
            "12:cpu:/x\n4:memory:/pod\n",
            {"memory/pod/memory.limit_in_bytes": "800\n", "memory/memory.limit_in_bytes": f"{(1 << 63) - 4096}\n"},
            800,
            id="version 1",
        ),
        pytest.param("4:memory:/\n", {"memory/memory.limit_in_bytes": f"{(1 << 63) - 4096}\n"}, None, id="and none"),
        pytest.param(None, {}, None, id="a system without cgroups"),
    ],
)
def test_the_limit_of_the_container(
    tmp_path: Path, own: str | None, files: dict[str, str], expected: int | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    if own is not None:
        (tmp_path / "own").write_text(own)
    assert container_limit(tmp_path, tmp_path / "own") == expected
