"""Lets Kubernetes and ours evaluate the same device selectors: `python -m oracle.judge_expressions`."""

import json
import re
import sys
import traceback
from collections.abc import Iterator
from itertools import islice
from random import Random

import click
import msgspec

from kit.cel_expressions import DRIVER, device, expressions
from localcluster.errors import Problem
from localcluster.interrupts import interruptible
from localcluster.progress import Step as Progress
from oracle.kubernetes_devices import answers
from oracle.scenario import Manifest
from pilotage.kinds.devices import Device
from pilotage.model.cel import CompileError, EvaluationError, compile_selector
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind
from pilotage.plugins.devices.dynamic_resources.expression_devices import seen_by_expressions

EACH = 3  # devices for each expression
AT_ONCE = 5000
AGAIN = 30  # times to ask what was answered differently
# Types that are not known; they are numbered in the order in which cel-go meets them.
VARIABLE = re.compile("_var[0-9]+")
# cel-go also knows types that only follow from a later use. So the first problem of a compile error is compared, and
# the type of the whole selector without that of its elements. No API server accepts such a selector.
RESULT = re.compile(r"(must evaluate to bool or the unknown type, not \w+)\(.*")
FURTHER = "\nERROR: <input>:"
BROKEN = "internal error: "  # cel-go's own: an error value in a place where it does not expect one
SAME, DIFFERENT, UNABLE = 0, 1, 2


@click.command()
@click.option("--count", default=100_000, show_default=True, help="The number of expressions.")
@click.option("--seed", default=0, show_default=True, help="Of the expressions.")
@click.option("--keep-going", is_flag=True, help="Continue after a difference.")
def main(count: int, seed: int, keep_going: bool) -> None:
    """Compare Kubernetes' evaluation of device selectors and ours on generated ones."""
    found = 0
    try:
        with interruptible(), Progress("comparing with cel-go"):
            for sentence in differences(seed, count):
                found += 1
                click.echo(sentence)
                if not keep_going:
                    break
    except Problem as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNABLE)
    click.echo(f"{found} different answers about {count} expressions")
    sys.exit(DIFFERENT if found else SAME)


def differences(seed: int, count: int) -> Iterator[str]:
    """One sentence for each expression that ours answers differently for a device."""
    drawn, chance = expressions(seed), Random(seed)  # noqa: S311 - it must repeat itself
    for first in range(0, count, AT_ONCE):
        some = list(islice(drawn, min(AT_ONCE, count - first)))
        questions: list[Manifest] = [
            {"expression": one, "driver": DRIVER, "device": device(chance)} for one in some for _ in range(EACH)
        ]
        told = ""
        for asked, real in zip(questions, answers("cel", questions), strict=True):
            sentence = _difference(asked, real)
            if sentence and asked["expression"] != told and not _varies(asked):
                told = asked["expression"]
                yield sentence


def _varies(asked: Manifest) -> bool:
    """Whether the real one says what ours says if asked again: Go steps through maps in any order."""
    return not all(_difference(asked, real) for real in answers("cel", [asked] * AGAIN))


def ours(asked: Manifest) -> Manifest:
    """Our answer, in the form of the real one."""
    kind = DeviceKind(asked["driver"], msgspec.convert(asked["device"], Device))
    try:
        return {"result": compile_selector(asked["expression"]).matches(seen_by_expressions(kind))}
    except CompileError as error:
        return {"compileError": str(error)}
    except EvaluationError as error:
        return {"runtimeError": str(error)}


def _difference(asked: Manifest, real: Manifest) -> str:
    if real.get("runtimeError", "").startswith(BROKEN):
        return ""
    expected = {key: value for key, value in real.items() if key != "cost"}
    said: Manifest
    try:
        said = ours(asked)
    except Exception:
        said = {"crash": traceback.format_exc()}
    if said == expected or _comparable(said) == _comparable(expected):
        return ""
    there = json.dumps(asked["device"])
    return f"{asked['expression']}\n  on {there}\n  the real one says {expected}\n  and ours {said}"


def _comparable(said: Manifest) -> Manifest:
    found = {key: VARIABLE.sub("_var", str(value)) for key, value in said.items()}
    if (error := found.get("compileError")) is not None:
        found["compileError"] = RESULT.sub(r"\1", error.partition(FURTHER)[0])
    return found


if __name__ == "__main__":
    main()
