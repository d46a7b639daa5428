"""What a what-if costs on a large cluster: `PYTHONPATH=hack python -m bench.what_if [NODES [PODS [COPIES]]]`."""

import sys
from collections.abc import Generator
from time import thread_time
from typing import Any

from pilotage.app import calm_garbage_collection, configured
from pilotage.app.what_if import scheduling_of
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.request import read
from pilotage.offline.what_if.run import run
from pilotage.offline.what_if.world import World, moment_in
from pilotage.testing import make_node, make_pod

NODES, PODS, COPIES = 5000, 20_000, 1000


def main(nodes: int = NODES, pods: int = PODS, copies: int = COPIES) -> None:
    """Ask twice, as the second question finds the copy of the cluster, and print what each took."""
    moment = moment_in(_cluster(nodes, pods))
    ready = configured(None)
    world = World(moment, scheduling_of(lambda: ready))
    calm_garbage_collection()
    new = {"addPods": {"requests": {"cpu": "100m", "memory": "100Mi"}, "copies": copies}}
    questions: dict[str, list[Any]] = {
        "first": [new],
        "again": [new],
        "with 3 more nodes": [new, {"addNodes": {"like": "node-0", "count": 3}}],
        "drain": [{"drain": {"nodes": ["node-1"]}}],
    }
    print(f"{nodes} nodes, {pods} pods, {copies} copies")
    for name, changes in questions.items():
        answer, slices = _timed(run(read({"changes": changes, "limits": {"seconds": 60}}), world))
        worst = sorted(slices)[-3:]
        shown = ", ".join(f"{1000 * each:.1f}" for each in worst)
        print(f"{name:20} {sum(slices):6.3f} s of CPU in {len(slices)} slices, longest {shown} ms: {answer.summary}")


def _timed(steps: Generator[None, None, WhatIfAnswer]) -> tuple[WhatIfAnswer, list[float]]:
    slices = []
    while True:
        begun = thread_time()
        try:
            next(steps)
        except StopIteration as end:
            slices.append(thread_time() - begun)
            return end.value, slices
        slices.append(thread_time() - begun)


def _cluster(nodes: int, pods: int) -> list[Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    zones = ("a", "b", "c")
    made: list[Any] = [
        make_node(f"node-{i}", cpu="32", labels={"topology.kubernetes.io/zone": zones[i % 3]}) for i in range(nodes)
    ]
    made += [
        make_pod(
            f"web-{i}",
            node=f"node-{i % nodes}",
            cpu=f"{100 + i % 7 * 50}m",
            memory="200Mi",
            labels={"app": f"web-{i % 50}"},
            metadata={"ownerReferences": [owner]},
        )
        for i in range(pods)
    ]
    return made


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
