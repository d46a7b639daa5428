"""Answers requests by running the code of plugin files, only in a child of the sandbox."""

from collections.abc import Iterable

from pilotage.plugins.catalogue import BrokenPlugin, PluginCatalogue
from pilotage.plugins.plugin_files import plugins_in_text
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.sandbox.records import Answer, Question, SourceFile, recorded


def answer(question: Question, built_in: PluginCatalogue) -> Answer:
    """Answer a request; errors in a file are part of the answer."""
    try:
        catalogue, names = _with(question.files, built_in)
    except BrokenPlugin as error:
        return Answer(problem=str(error))
    if question.ask == "describe":
        return Answer(plugins=tuple(names))
    return Answer(verdict=recorded(Judge(catalogue, rules=question.rules).judge(question.name, question.spec)))


def _with(files: Iterable[SourceFile], built_in: PluginCatalogue) -> tuple[PluginCatalogue, list[str]]:
    catalogue, names = built_in.copy(), []
    for file in files:
        for plugin in plugins_in_text(file.path, file.text):
            catalogue.add(plugin, file.path)
            names.append(plugin.name)
    return catalogue, names
