"""Nodes go, come back under the same name, are tainted and cordoned between the decision and the bind."""

import itertools
import threading
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fault_ground import Ground
from kit.fault_plans import LateBinds
from kit.fixtures import Audit, Nodes
from kit.patient_client import PatientClient
from kit.tiers import tiered

pytestmark = pytest.mark.full

TAINT = {"key": "faults", "value": "yes", "effect": "NoSchedule"}
SEEDS = tiered(range(1, 4), faults=range(2, 4))
# Of the nodes only some change: the others have room for everybody.
CHANGING = 15


@pytest.fixture
def ground(control_plane: ControlPlane, namespace: str, tmp_path: Path, fake_nodes: Nodes, audit: Audit) -> Ground:
    return Ground(control_plane, namespace, tmp_path, fake_nodes, audit).prepare(nodes=60)


class Unrest:
    """Changes nodes in a thread of its own until it is told to stop, and leaves them as they were."""

    def __init__(self, ground: Ground, seed: int) -> None:
        self._ground = ground
        self._random = Random(seed)
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unrest", daemon=True)
        self.changes = {"delete": 0, "taint": 0, "cordon": 0}

    def __enter__(self) -> "Unrest":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join(60)

    def _run(self) -> None:
        with closing(PatientClient(self._ground.control_plane.cluster)) as api:
            for turn in itertools.count():
                if self._enough.wait(0.15):
                    break
                self._change(api, turn)
            for node in self._ground.nodes[:CHANGING]:
                api.patch(
                    f"/api/v1/nodes/{node['metadata']['name']}", {"spec": {"taints": None, "unschedulable": None}}
                )

    def _change(self, api: PatientClient, turn: int) -> None:
        node = self._ground.nodes[self._random.randrange(CHANGING)]
        name = node["metadata"]["name"]
        what = tuple(self.changes)[turn % 3]
        self.changes[what] += 1
        if what == "delete":
            api.delete(f"/api/v1/nodes/{name}")
            self._enough.wait(0.3)
            api.create(node)
        elif what == "taint":
            api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": [TAINT]}})
        else:
            is_cordoned = self._random.random() < 0.5
            api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": is_cordoned, "taints": None}})


DAWDLER = '''
import asyncio
import random

from pilotage.plugin import PreBind


class Dawdler(PreBind):
    """Take a while between the decision and the bind."""

    async def pre_bind(self, cycle, pod, node):
        await asyncio.sleep(random.uniform(0, 2))
'''


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_end_on_nodes_that_are_there_while_nodes_come_and_go(ground: Ground, seed: int) -> None:
    plugins = ground.folder / "plugins"
    plugins.mkdir()
    (plugins / "dawdler.py").write_text(DAWDLER)
    profile: dict[str, Any] = {"plugins": {"preBind": {"enabled": [{"name": "Dawdler"}]}}}
    with ground.audited() as running, ground.proxied(f"--plugin-dir={plugins}", **profile) as (proxy, scheduler):
        proxy.plan = LateBinds(seed)
        with ground.storm(seed=seed) as storm:
            with Unrest(ground, seed) as unrest:
                storm.reaches(1.0)
            storm.ends_bound(120, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
        told = scheduler.log.read_text()
    assert running.report["violations"] == []
    assert min(unrest.changes.values()) > 5
    assert "was deleted before the pod could be bound to it" in told or "has changed: " in told
