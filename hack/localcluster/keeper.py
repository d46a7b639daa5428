"""The process that holds a cluster together: it starts the programs, restarts what dies and ends with all of them.

    control ──(API ready)──► cluster ──(tasks done)──► node ──(creation done)──► a dead service is started again
       └───────────── a program ends too early ──────────┴─────► failure written, everything ended

In the full shape it is process 1 of a PID namespace, so the kernel ends whatever is left in there when it ends.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from localcluster import cgroups, component, network, record
from localcluster.api import Api
from localcluster.component import Component, Stage
from localcluster.errors import Problem
from localcluster.isolation import isolate
from localcluster.processes import MARKER

API_DEADLINE_SECONDS = 60
TASK_DEADLINE_SECONDS = 120
RESTART_DELAY_SECONDS = 1.0
PULSE_SECONDS = 0.1
PR_SET_PDEATHSIG = 1


class Keeper:
    """The running programs of one cluster."""

    def __init__(self, cluster: record.Cluster) -> None:
        self._cluster = cluster
        self._running: dict[int, Component] = {}
        self._restart_at: dict[float, Component] = {}

    def start_all(self) -> None:
        """Bring the programs up in their order."""
        components = component.load(self._cluster.folder)
        api = Api(self._cluster)
        self._start("control", components)
        self._wait("the API server is not ready", API_DEADLINE_SECONDS, lambda: api.answers("/readyz"))
        self._start("cluster", components)
        self._wait("images are not imported", TASK_DEADLINE_SECONDS, self._tasks_done)
        self._start("node", components)

    def watch(self) -> None:
        """Restart what dies, forever."""
        while True:
            self._reap()
            now = time.monotonic()
            for due in [moment for moment in self._restart_at if moment <= now]:
                self._launch(self._restart_at.pop(due))
            time.sleep(PULSE_SECONDS)

    def end_all(self) -> None:
        """Kill every program that was started here."""
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        for pid in list(self._running):
            os.waitpid(pid, 0)
        self._running.clear()

    def _start(self, stage: Stage, components: list[Component]) -> None:
        for one in components:
            if one.stage == stage:
                self._launch(one)

    def _launch(self, one: Component) -> None:
        with (self._cluster.logs / f"{one.name}.log").open("ab") as log:
            process = subprocess.Popen(
                one.command,
                env=os.environ | one.environment | {"PILOTAGE_COMPONENT": one.name},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,
            )
        self._running[process.pid] = one

    def _wait(self, complaint: str, seconds: float, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            self._reap()
            if time.monotonic() > deadline:
                raise Problem(f"{complaint} after {seconds:.0f} s")
            time.sleep(PULSE_SECONDS)

    def _tasks_done(self) -> bool:
        return not any(one.is_task for one in self._running.values())

    def _reap(self) -> None:
        """Record every process that ended; as process 1 that includes orphans of containers."""
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if one := self._running.pop(pid, None):
                self._ended(one, os.waitstatus_to_exitcode(status))

    def _ended(self, one: Component, code: int) -> None:
        if one.is_task and code == 0:
            return
        if not self._cluster.ready_file.exists():
            raise Problem(f"{one.name} ended with code {code}: {self._last_words(one)}")
        print(f"{one.name} ended with code {code}, starting it again", flush=True)
        self._restart_at[time.monotonic() + RESTART_DELAY_SECONDS] = one

    def _last_words(self, one: Component) -> str:
        lines = (self._cluster.logs / f"{one.name}.log").read_text(errors="replace").strip().splitlines()
        return lines[-1][:600] if lines else "it said nothing"


def _die_with_parent() -> None:
    """In the child: when the keeper is killed, the kernel kills the child too."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def main(name: str) -> None:
    """Keep the cluster of this name until told to end."""
    cluster = record.load_existing(name)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    keeper = Keeper(cluster)
    try:
        if cluster.shape == "full":
            _prepare_machine(cluster)
        keeper.start_all()
        (cluster.folder / "started").touch()
        keeper.watch()
    except (Problem, OSError) as error:
        (cluster.folder / "failure").write_text(str(error))
        raise SystemExit(1) from error
    finally:
        keeper.end_all()


def _prepare_machine(cluster: record.Cluster) -> None:
    cluster.pid_namespace_file.write_text(str(Path("/proc/self/ns/pid").readlink()))
    isolate(cluster.folder)
    cgroups.create([cluster.network.node_name(number) for number in range(1, cluster.workers + 1)])
    network.bring_up(cluster.network, cluster.folder, cluster.workers)


def command(cluster: record.Cluster) -> list[str]:
    """The command line that starts a keeper."""
    own = [sys.executable, "-m", "localcluster.keeper", cluster.name]
    if cluster.shape == "control-plane":
        return own
    isolated = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    return ["unshare", *isolated, *own]


def start(cluster: record.Cluster) -> subprocess.Popen[bytes]:
    """Start a keeper that outlives us."""
    hack = Path(__file__).resolve().parent.parent
    environment = os.environ | {MARKER: str(cluster.folder), "PYTHONPATH": str(hack)}
    with (cluster.logs / "keeper.log").open("wb") as log:
        return subprocess.Popen(
            command(cluster),
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


if __name__ == "__main__":
    main(sys.argv[1])
