"""The catalogue of the scheduler's plugins, and a judge with it."""

import logging
from collections.abc import Iterable
from pathlib import Path

from pilotage.plugins.catalogue import BrokenPlugin, PluginCatalogue, built_in
from pilotage.scheduler_profiles.judge import Judge

log = logging.getLogger(__name__)


def judge_with(folders: Iterable[Path]) -> Judge:
    """Return a judge for all plugins; errors of a folder are reported if a plugin is not found."""
    catalogue, troubles = catalogue_of(folders)
    for trouble in troubles:
        log.warning("invalid plugin: %s", trouble)
    return Judge(catalogue, "; ".join(troubles))


def catalogue_of(folders: Iterable[Path]) -> tuple[PluginCatalogue, list[str]]:
    """Return the valid plugins, and the errors of the others."""
    catalogue, troubles = built_in(), []
    for folder in folders:
        try:
            catalogue.add_folder(folder)
        except BrokenPlugin as error:
            troubles.append(str(error))
    return catalogue, troubles
