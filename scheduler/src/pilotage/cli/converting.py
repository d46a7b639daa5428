"""What `pilotage convert` does: reads configurations, converts them, and prints the result and what is lost."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from pilotage import app
from pilotage.cli.command import BAD_INPUT, note
from pilotage.config.documents import Document
from pilotage.config.faults import InvalidConfiguration
from pilotage.config.load import load
from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.conversion.finding import Input, NotConvertible, candidates, read
from pilotage.conversion.notes import Notes
from pilotage.conversion.resources import scheduler_profiles
from pilotage.conversion.to_v1 import to_v1
from pilotage.offline.manifest_entries import documents_of
from pilotage.plugins.catalogue import PluginCatalogue
from pilotage.scheduler_profiles.checking import checked
from pilotage.scheduler_profiles.judge import Judge
from pilotage.scheduler_profiles.render import yaml_text

WRONG = 1


def convert(files: Sequence[str], output: str, plugin_dirs: tuple[str, ...]) -> None:
    """Print the files' configurations as profiles, or as one of v1; the exit code says how well that went."""
    catalogue, _ = app.plugins(plugin_dirs)
    work = _Work(catalogue, output)
    problems: list[str] = []
    for document, several in _with_count(list(documents_of(files, problems))):
        work.take(document, several=several)
    work.judge()
    for text in work.notes.told:
        note(text)
    for text in (*problems, *work.notes.wrong):
        click.echo(text, err=True)
    if work.made:
        click.echo("---\n".join(map(yaml_text, work.made)), nl=False)
    if problems or not work.made:
        raise SystemExit(BAD_INPUT)
    if work.notes.wrong:
        raise SystemExit(WRONG)


def _with_count(documents: list[Document]) -> Iterator[tuple[Document, bool]]:
    sources = [document.source for document in documents]
    for document in documents:
        yield document, sources.count(document.source) > 1


class _Work:
    """What was converted so far, and notes about it."""

    def __init__(self, catalogue: PluginCatalogue, output: str) -> None:
        self._catalogue, self._output = catalogue, output
        self.made: list[dict[str, Any]] = []
        self.notes = Notes("")

    def take(self, document: Document, *, several: bool) -> None:
        """Convert everything in a document."""
        try:
            for candidate in candidates(document):
                try:
                    self._convert(read(candidate, several))
                except (NotConvertible, InvalidConfiguration) as error:
                    self._tell(error)
        except NotConvertible as error:
            self._tell(error)

    def _tell(self, error: NotConvertible | InvalidConfiguration) -> None:
        is_wrong = not isinstance(error, NotConvertible) or error.is_wrong
        (self.notes.wrong if is_wrong else self.notes.told).append(str(error))

    def _convert(self, given: Input) -> None:
        config = to_v1(given.config, given.version, self._catalogue, given.notes)
        if self._output == "config":
            self.made.append(_written(config))
            self._judge_config(self.made[-1], given.notes)
        else:
            self.made += scheduler_profiles(config, self._catalogue, given.notes)
        self.notes.told += given.notes.told
        self.notes.wrong += given.notes.wrong

    def _judge_config(self, made: dict[str, Any], notes: Notes) -> None:
        try:
            load(yaml_text(made), self._catalogue)
        except InvalidConfiguration as error:
            for fault in error.faults:
                notes.error(f"{fault.text}{'; ' if fault.hint else ''}{fault.hint}")

    def judge(self) -> None:
        """Report what is wrong with the results, also in combination."""
        if self._output == "config" and len(self.made) > 1:
            self.notes.told.append("a scheduler reads one configuration: put each document into its own file")
        elif self._output == "profiles":
            for result in checked(self.made, Judge(self._catalogue)):
                self.notes.wrong += [f"{result.name}: {complaint.message}" for complaint in result.complaints]


def _written(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """Return a configuration without its defaults."""
    return config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
