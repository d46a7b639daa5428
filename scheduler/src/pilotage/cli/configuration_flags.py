"""The flags for the configuration that decides: in a file, in a ConfigMap, or the one that serves the pods."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from pilotage.cli.command import BadInput, plugin_dir_option

Function = Callable[..., Any]


@dataclass(frozen=True)
class Configuration:
    """The configuration that decides; without a file and a ConfigMap, the one that serves the pods."""

    file: str | None = None
    config_map: tuple[str, str] | None = None  # namespace and name
    plugin_folders: tuple[str, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether the user has chosen it."""
        return self.file is not None or self.config_map is not None


def configuration_options(function: Function) -> Function:
    """Add --config, --config-map and --plugin-dir; the function receives them as `configuration`."""

    @wraps(function)
    def gathered(*, config: str | None, config_map: str | None, plugin_dirs: tuple[str, ...], **given: Any) -> Any:
        if config is not None and config_map is not None:
            raise BadInput("--config and --config-map exclude each other; use one of them")
        return function(configuration=Configuration(config, _named(config_map), plugin_dirs), **given)

    file_help = "The KubeSchedulerConfiguration or SchedulerProfile of the pods' scheduler."
    decorated = plugin_dir_option(gathered)
    decorated = click.option("--config-map", metavar="NAMESPACE/NAME", help="The ConfigMap that contains it.")(
        decorated
    )
    return click.option("--config", metavar="FILE", help=file_help)(decorated)


def _named(config_map: str | None) -> tuple[str, str] | None:
    if config_map is None:
        return None
    namespace, slash, name = config_map.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise BadInput(f"--config-map {config_map}: write NAMESPACE/NAME")
    return namespace, name
