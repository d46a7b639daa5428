"""Lets Kubernetes' device allocator and ours answer the same questions: `python -m oracle.judge_devices`."""

import json
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import click
import msgspec
import yaml

from localcluster.errors import Problem
from localcluster.interrupts import interruptible
from localcluster.progress import Step as Progress
from oracle.claims import plain
from oracle.generate_device_questions import Question, question
from oracle.kubernetes_devices import answers
from oracle.scenario import Manifest
from pilotage.kinds.decoding import decode
from pilotage.kinds.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from pilotage.kinds.every import kind_of
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.allocator import Allocator
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory
from pilotage.plugins.devices.dynamic_resources.outcomes import AllocationFailed, NoSolution
from pilotage.plugins.devices.dynamic_resources.usage import Usage

AT_ONCE = 1000
NOTHING = "cannot allocate all claims"  # the plugin says so where its allocator says nothing
OUT_OF_TIME = "context deadline exceeded"  # of the real one, which tries everything
TIMED_OUT = "timed out trying to allocate devices"
ASKED_AGAIN = 500
SAME, DIFFERENT, UNABLE = 0, 1, 2


@click.command()
@click.option("--seeds", default=20_000, show_default=True, help="The number of questions.")
@click.option("--start", default=0, show_default=True, help="The first seed.")
@click.option("--keep-going", is_flag=True, help="Continue after a difference.")
@click.option("--whole", is_flag=True, help="Print the questions that are answered differently.")
def main(seeds: int, start: int, keep_going: bool, whole: bool) -> None:
    """Compare Kubernetes' device allocator and ours on generated questions."""
    found = 0
    try:
        with interruptible(), Progress("comparing with the device allocator") as progress:
            for done, (asked, sentence) in enumerate(differences(range(start, start + seeds)), start=1):
                progress.update(asked.seed - start, seeds, "questions")
                found = done
                click.echo(sentence + (f"\n{story(asked)}" if whole else ""))
                if not keep_going:
                    break
    except Problem as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNABLE)
    click.echo(f"{found} different answers to {seeds} questions")
    sys.exit(DIFFERENT if found else SAME)


def differences(seeds: range) -> Iterator[tuple[Question, str]]:
    """Each question that ours answers differently, and one sentence about the first node where it does."""
    for first in range(0, len(seeds), AT_ONCE):
        asked = [question(seed) for seed in seeds[first : first + AT_ONCE]]
        for one, answer in zip(asked, answers("allocate", (one.for_kubernetes() for one in asked)), strict=True):
            if sentence := _difference(one, answer["answers"]):
                yield one, f"seed {one.seed}: {sentence}"


def story(asked: Question) -> str:
    """A question, for a person to read."""
    return yaml.safe_dump(asked.for_kubernetes(), sort_keys=False, width=110)


def ours(asked: Question) -> list[Manifest]:
    """What our allocator says of each node, in the form of the real one."""
    inventory, usage = Inventory(), Usage()
    for one in asked.slices:
        inventory.slice_changed(None, _decoded(one, ResourceSlice))
    for one in asked.rules:
        inventory.rule_changed(None, _decoded(one, DeviceTaintRule))
    for one in asked.holders:
        held = _decoded(one, ResourceClaim)
        usage.take(held.metadata.uid, held.status.allocation)
    classes = {one["metadata"]["name"]: _decoded(one, DeviceClass) for one in asked.classes}
    ask = Allocator(inventory, usage, classes.get, None).ask([_decoded(one, ResourceClaim) for one in asked.claims])
    return [_answer(ask, _decoded(node, Node)) for node in asked.nodes]


def _answer(ask: Any, node: Node) -> Manifest:
    for _ in range(ASKED_AGAIN):  # ours looks for a while only, and goes on where it was
        answer = _one_answer(ask, node)
        if not answer.get("error", "").endswith(TIMED_OUT):
            break
    return answer


def _one_answer(ask: Any, node: Node) -> Manifest:
    try:
        found = ask.on_node(node)
        if isinstance(found, NoSolution):
            return {"nodeSays": found.text}
        return {"results": [json.loads(msgspec.json.encode(one)) for one in ask.allocations(node)]}
    except AllocationFailed as failure:
        return {"error": str(failure)}


def _difference(asked: Question, real: list[Manifest]) -> str:
    try:
        said = ours(asked)
    except Exception:
        return f"ours crashes: {traceback.format_exc()}"
    for node, theirs, our in zip(asked.nodes, real, said, strict=True):
        if theirs.get("error", "").endswith(OUT_OF_TIME):
            continue
        expected, got = plain(theirs or {"nodeSays": NOTHING}), plain(our)
        if expected != got:
            name = node["metadata"]["name"]
            return f"on {name} the real one says\n  {json.dumps(expected)}\nand ours\n  {json.dumps(got)}"
    return ""


def _decoded(manifest: Manifest, kind: type[Any]) -> Any:
    shape = kind_of(manifest)
    assert shape is not None
    found = decode(manifest, shape)
    assert isinstance(found, kind)
    return found


if __name__ == "__main__":
    main()
