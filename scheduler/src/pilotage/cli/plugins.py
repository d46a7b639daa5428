"""`pilotage plugins`: all plugins, and everything about each."""

import json
from typing import Any

import click

from pilotage.cli.command import BadInput, PlainCommand, plugin_dir_option, verbose_option
from pilotage.cli.formats import FORMATS
from pilotage.cli.tables import table

EPILOG = """\b
Examples:
  pilotage plugins
  pilotage plugins NodeResourcesFit
  pilotage plugins --plugin-dir examples/plugins -o wide
  pilotage plugins -o json | jq '.[] | select(.extensionPoints | index("score")).name'

\b
Exit code: 0; 2 if there is no such plugin.
"""


@click.command("plugins", cls=PlainCommand, epilog=EPILOG)
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Choice(["table", "wide", *FORMATS]), default="table", show_default=True)
@plugin_dir_option
@verbose_option
def command(name: str | None, output: str, plugin_dirs: tuple[str, ...]) -> None:
    """List all plugins, or describe the plugin NAME.

    Plugins come with pilotage, with installed packages (entry point group pilotage.plugins), or from a folder.
    """
    from pilotage import app  # the plugins take half a second to import
    from pilotage.cli.plugin_facts import facts
    from pilotage.config.suggestions import did_you_mean

    catalogue, _ = app.plugins(plugin_dirs)
    if name is None:
        everything = [facts(entry) for entry in catalogue]
        click.echo(FORMATS[output](everything) if output in FORMATS else _listed(everything, wide=output == "wide"))
        return
    entry = catalogue.entry(name)
    if entry is None:
        hint = did_you_mean(name, catalogue.names())
        raise BadInput(f'no plugin "{name}"; {hint or "`pilotage plugins` lists all"}')
    found = facts(entry)
    click.echo(FORMATS[output](found) if output in FORMATS else _page(found))


def _listed(plugins: list[dict[str, Any]], *, wide: bool) -> str:
    if not wide:
        rows = [(each["name"], ",".join(each["extensionPoints"]), each["description"]) for each in plugins]
        return table(("NAME", "EXTENSION POINTS", "DESCRIPTION"), rows)
    columns = ("NAME", "EXTENSION POINTS", "DEPENDS ON", "ARGUMENTS", "EVENTS", "READS", "PERMISSIONS", "FROM")
    return table((*columns, "DESCRIPTION"), [_wide_row(each) for each in plugins])


def _wide_row(plugin: dict[str, Any]) -> tuple[str, ...]:
    return (
        plugin["name"],
        ",".join(plugin["extensionPoints"]),
        plugin["dependsOn"],
        ",".join(argument["name"] for argument in plugin["arguments"]) or "-",
        ",".join(f"{event['resource']}/{'|'.join(event['actions'])}" for event in plugin["events"]) or "-",
        ",".join(kind["kind"] for kind in plugin["reads"]) or "-",
        ",".join(f"{'|'.join(each['verbs'])} {_resource(each)}" for each in plugin["permissions"]) or "-",
        plugin["origin"],
        plugin["description"],
    )


def _page(plugin: dict[str, Any]) -> str:
    head = table(
        ("Name:", plugin["name"]),
        [
            ("Description:", plugin["description"]),
            ("From:", plugin["origin"]),
            ("Extension points:", ", ".join(plugin["extensionPoints"])),
            ("Results depend on:", plugin["dependsOn"]),
        ],
    )
    parts = [
        ("Arguments", _arguments(plugin)),
        ("Events that can make a rejected pod schedulable", _events(plugin)),
        ("API objects that it reads, besides pods and nodes", _reads(plugin)),
        ("Permissions that it needs", _permissions(plugin)),
    ]
    return "\n\n".join([head, *(f"{title}:\n{text or '  none'}" for title, text in parts)])


def _arguments(plugin: dict[str, Any]) -> str:
    rows = [
        (
            each["name"],
            each["type"],
            "(required)" if each["required"] else json.dumps(each["default"]),
            each["description"],
        )
        for each in plugin["arguments"]
    ]
    return table(("NAME", "TYPE", "DEFAULT", ""), rows, indent="  ") if rows else ""


def _events(plugin: dict[str, Any]) -> str:
    rows = [
        (
            event["resource"],
            ", ".join(event["actions"]),
            f"if {event['hint']} returns true" if event["hint"] else "always",
        )
        for event in plugin["events"]
    ]
    return table(("RESOURCE", "CHANGES", "TRIED AGAIN"), rows, indent="  ") if rows else ""


def _reads(plugin: dict[str, Any]) -> str:
    return "\n".join(f"  {each['kind']}{'.' if each['group'] else ''}{each['group']}" for each in plugin["reads"])


def _permissions(plugin: dict[str, Any]) -> str:
    return "\n".join(f"  {', '.join(each['verbs'])} {_resource(each)}" for each in plugin["permissions"])


def _resource(permission: dict[str, Any]) -> str:
    return f"{permission['resource']}{'.' if permission['group'] else ''}{permission['group']}"
