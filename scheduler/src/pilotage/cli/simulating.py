"""What `pilotage simulate` does: reads files, schedules their pods in memory, and prints what became of them."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pilotage import app
from pilotage.cli.command import NOT_ALL_PLACED, BadInput, note
from pilotage.cli.explain_pod import explained_data, explained_text
from pilotage.cli.formats import FORMATS
from pilotage.cli.input_notes import input_notes
from pilotage.cli.progress import Progress
from pilotage.cli.results import as_data, as_table, summary
from pilotage.kinds.every import KindTable
from pilotage.model.pod import Pod
from pilotage.offline.claim_controller import with_claims
from pilotage.offline.manifests import Manifests, read_manifests
from pilotage.offline.replicas import NoSuchPod, find_pending, multiply
from pilotage.offline.results import Result
from pilotage.offline.simulation import Simulation
from pilotage.plugins.catalogue import PluginCatalogue


@dataclass(frozen=True)
class Wish:
    """What is simulated, and what is printed of it."""

    files: Sequence[str]
    config: str | None
    plugin_dirs: tuple[str, ...]
    seed: int
    explain: str | None  # a pod
    replicas: tuple[str, ...]
    output: str


def simulate(wish: Wish) -> None:
    """Schedule the pods of the files, print what became of them, and end with the exit code for it."""
    catalogue, added = app.plugins(wish.plugin_dirs)
    found = _read(wish.files, KindTable(catalogue.kinds()))
    ready = _configured(wish.config, found, catalogue, added)
    for warning in ready.loaded.warnings:
        note(warning)
    explained = _replicate(found, wish.replicas, wish.explain)
    found.objects, without_template = with_claims(found.objects)
    configuration = ready.loaded.config
    profiles = ready.profiles()
    simulation = app.simulation(
        profiles,
        seed=wish.seed,
        initial_backoff=configuration.pod_initial_backoff_seconds,
        max_backoff=configuration.pod_max_backoff_seconds,
        with_scores=wish.output != "table",
        explain_pod=explained,
    )
    results = _run(simulation, found)
    for text in (*input_notes(found, simulation.unserved, profiles), *without_template):
        note(text)
    if configuration.extenders:
        note("the configuration's extenders are not called: a simulation uses no network")
    _tell(simulation, results, explained, wish.output)
    if any(result.node is None for result in results):
        raise SystemExit(NOT_ALL_PLACED)


def _configured(
    config: str | None, found: Manifests, catalogue: PluginCatalogue, added: Sequence[str]
) -> app.Configured:
    """Load the named configuration; without one, the profiles among the manifests, or the defaults."""
    if found.profiles and config is None:
        return app.profiles_configured(found.profiles, catalogue)
    if found.profiles:
        note(f"profiles in the files that are ignored in favour of --config {config}: {len(found.profiles)}")
    return app.configured_with(None if config is None else Path(config), catalogue, added)


def _read(names: Sequence[str], kinds: KindTable) -> Manifests:
    # Nothing that is read is garbage; looking for it again and again would take a third of the time.
    was_on = gc.isenabled()
    gc.disable()
    progress = Progress("reading a file")
    try:
        return read_manifests(names, progress, kinds)
    finally:
        progress.end()
        gc.freeze()
        if was_on:
            gc.enable()


def _replicate(found: Manifests, replicas: tuple[str, ...], asked: str | None) -> str | None:
    """Multiply pods as asked; returns the key of the pod to explain."""
    everyone, some = _counts(replicas)
    try:
        if replicas:
            others = [each for each in found.objects if not isinstance(each, Pod)]
            found.objects = [*others, *multiply(found.pods, everyone, some)]
        return find_pending(asked, found.pods).key if asked else None
    except NoSuchPod as error:
        raise BadInput(str(error)) from None


def _counts(replicas: tuple[str, ...]) -> tuple[int, dict[str, int]]:
    everyone, some = 1, {}
    for given in replicas:
        name, _, count = given.rpartition("=")
        if not count.isascii() or not count.isdigit() or int(count) < 1:
            raise BadInput(f"--replicas {given}: give a positive number, or a pod and a number, such as web=3")
        if name:
            some[name] = int(count)
        else:
            everyone = int(count)
    return everyone, some


def _run(simulation: Simulation, found: Manifests) -> list[Result]:
    for each in found.objects:
        simulation.add(each)
    progress = Progress("scheduling pods")
    try:
        return simulation.run(progress)
    finally:
        progress.end()
        gc.unfreeze()


def _tell(simulation: Simulation, results: list[Result], explained: str | None, output: str) -> None:
    if explained is not None:
        result = next((each for each in results if f"{each.namespace}/{each.name}" == explained), None)
        if result is None:
            raise BadInput(f"no profile has the schedulerName of pod {explained}, so it is not scheduled")
        if output == "table":
            click.echo(explained_text(result, simulation.explanation, simulation.remedies))
        else:
            click.echo(FORMATS[output](explained_data(result, simulation.explanation, simulation.remedies)))
        return
    if output != "table":
        click.echo(FORMATS[output]([as_data(result) for result in results]))
    elif results:
        click.echo(as_table(results))
        click.echo(summary(results), err=True)
    else:
        note("there are no pending pods")
