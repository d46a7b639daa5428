"""The answers in docs/api.md are those of a scheduler."""

import json
import re
from typing import Any

import pytest

from kit.api_scene import SHOP, Begin, Scene
from localcluster.paths import REPOSITORY
from pilotage.config.handshake import Report
from pilotage.kinds.elastic_quota import ElasticQuota, ElasticQuotaSpec
from pilotage.model.metadata import Metadata
from pilotage.testing import make_pod

PAGE = REPOSITORY / "docs" / "api.md"
EXAMPLE = re.compile(r"^```json\nGET (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What is another one each time.
TIMES = {"at", "since", "oldest", "nextTry"}
OTHERS = {"revision": 1882229152153602, "micros": 310, "p50": 0.0003, "p99": 0.0012}
HASH = "0a1b2c3d4e5f6071"
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
ZONE, TYPE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"


def settled(found: Any) -> Any:
    """Return an answer with the same times and durations each time, and one remedy: docs/explain.md has the others."""
    if isinstance(found, list):
        return [settled(each) for each in found]
    if not isinstance(found, dict):
        return found
    fixed = {key: "2026-11-18T12:00:00Z" for key in found if key in TIMES}
    fixed |= {key: OTHERS[key] for key in found if key in OTHERS}
    fixed |= {key: "0f1e..." for key in found if key == "uid"}
    fixed |= {key: settled(found[key][:1]) for key in found if key == "remedies"}
    return {key: fixed[key] if key in fixed else settled(value) for key, value in found.items()}


async def fill(scene: Scene) -> None:
    """Three nodes, of which one is for others, and a pod that is too large for what is left."""
    live = scene.live
    for name, zone in (("n1", "a"), ("n2", "b")):
        live.add_node(name, cpu="4", memory="16Gi", labels={ZONE: zone, TYPE: "m5.xlarge"})
    live.add_node("gpu-1", cpu="8", memory="32Gi", taints=[TAINT], labels={ZONE: "a", TYPE: "p3.2xlarge"})
    live.core.objects.added(
        ElasticQuota(Metadata(name="shop", namespace=SHOP), ElasticQuotaSpec(min={"cpu": "6"}, max={"cpu": "8"}))
    )
    live.create(make_pod("low-1", namespace="batch", cpu="2500m"))
    await live.settle()
    live.create(make_pod("web-0", namespace=SHOP, cpu="1"))
    await live.settle()
    live.create(make_pod("web-1", namespace=SHOP, cpu="3500m"))
    gang = {"pod-group.pilotage.dev/name": "big", "pod-group.pilotage.dev/min-available": "3"}
    live.create(*(make_pod(f"big-{number}", namespace="train", cpu="2", labels=gang) for number in range(2)))
    await live.settle()
    scene.log.hash = HASH
    scene.reports |= {name: Report(HASH) for name in ("scheduler-0", "scheduler-1")}
    ready = {"type": "Ready", "status": "True", "reason": "Acknowledged", "message": "all replicas run it"}
    status = {"configHash": HASH, "lastAcknowledged": {"generation": 3}, "conditions": [ready]}
    scene.profiles["default-scheduler"] = {"metadata": {"generation": 3}, "status": status}


def examples() -> list[tuple[str, str]]:
    """Return the paths on the page, with what it says that they answer."""
    return EXAMPLE.findall(PAGE.read_text())


@pytest.mark.parametrize(("path", "shown"), examples(), ids=[path for path, _ in examples()])
async def test_the_examples_of_the_page_are_real_answers(begin: Begin, path: str, shown: str) -> None:
    scene = await begin()
    await fill(scene)
    assert json.loads(shown) == settled(await scene.get(path))
