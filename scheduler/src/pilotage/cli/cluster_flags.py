"""The flags of kubectl: which cluster, as which user, which namespace, and the output format."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import wraps
from typing import Any

import click

from pilotage.cli.command import BadInput
from pilotage.cluster.kubectl.way import Way

AUTO, LIVE, LOCAL = "auto", "live", "local"
FORMATS = ("json", "yaml")
Function = Callable[..., Any]


@dataclass(frozen=True)
class Asked:
    """Which cluster is asked, as which user, about which namespace, and the source of the answer."""

    way: Way = field(default_factory=Way)
    namespace: str = ""  # "": that of the context
    all_namespaces: bool = False
    source: str = AUTO
    release: str = ""  # NAMESPACE or NAMESPACE/NAME
    token_from: str = ""  # NAMESPACE/SERVICEACCOUNT

    @property
    def is_file(self) -> bool:
        """Whether the source is a file."""
        return self.source not in (AUTO, LIVE, LOCAL) and not self.is_address

    @property
    def is_address(self) -> bool:
        """Whether the source is the address of a scheduler."""
        return self.source.startswith("https://")


class About(Enum):
    """What -n and -A mean for a command."""

    NAMESPACE = "the objects of a namespace, or of all"
    MANIFESTS = "manifests that name no namespace"
    CLUSTER = "nothing: the answer is about the whole cluster; both are accepted and ignored, as by kubectl"


class Auto(Enum):
    """The source that is tried first."""

    SCHEDULER = "auto: live if you have access to the scheduler, else local"
    PROGRAM = "auto: local if your rights suffice, else live"


def asks_a_cluster(
    about: About = About.NAMESPACE, *, source: Auto | None = Auto.SCHEDULER
) -> Callable[[Function], Function]:
    """Add kubectl's flags to a command; its function receives them as `asked`."""

    def add(function: Function) -> Function:
        @wraps(function)
        def gathered(**given: Any) -> Any:
            return function(asked=_asked(given), **given)

        wanted = [*_WAY, *_NAMESPACE[about], *(() if source is None else (_source(source), *_SCHEDULER))]
        decorated: Function = gathered
        for option in reversed(wanted):
            decorated = option(decorated)
        return decorated

    return add


def output_option(*more: str) -> Function:
    """Add -o, and --no-headers."""
    formats = ["table", *more, *FORMATS]

    def add(function: Function) -> Function:
        output = click.option(
            "-o", "--output", type=click.Choice(formats), default="table", show_default=True, help="The output format."
        )
        return output(click.option("--no-headers", is_flag=True, help="Do not print column headers.")(function))

    return add


def _asked(given: dict[str, Any]) -> Asked:
    """Take these flags out of the given ones."""
    way = Way(given.pop("kubeconfig"), given.pop("context"), given.pop("as_user"), given.pop("as_groups"))
    if way.groups and not way.user:
        raise BadInput("--as-group requires --as; name the user, too")
    namespace, everywhere = given.pop("namespace", ""), given.pop("all_namespaces", False)
    if namespace and everywhere:
        raise BadInput("-n and -A exclude each other; use one of them")
    asked = Asked(way, namespace, everywhere, given.pop("source", AUTO), given.pop("release", ""))
    return replace(asked, token_from=given.pop("token_from", ""))


def _namespaces(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from pilotage.cli.candidates import namespaces  # only a shell that completes asks for it

    return namespaces(context, incomplete)


def _contexts(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from pilotage.cli.candidates import contexts

    return contexts(context, incomplete)


_WAY = (
    click.option("--kubeconfig", default="", metavar="FILE", help="The kubeconfig. Default: that of kubectl."),
    click.option(
        "--context",
        default="",
        metavar="NAME",
        shell_complete=_contexts,
        help="The context of the kubeconfig. Default: the current one.",
    ),
    click.option("--as", "as_user", default="", metavar="USER", help="Impersonate this user."),
    click.option(
        "--as-group", "as_groups", multiple=True, metavar="GROUP", help="Impersonate this group. Can be repeated."
    ),
)


def _namespace(help_text: str = "") -> Callable[[Function], Function]:
    return click.option(
        "-n",
        "--namespace",
        default="",
        metavar="NAME",
        shell_complete=_namespaces,
        hidden=not help_text,
        help=f"{help_text} Default: that of the kubeconfig's context.",
    )


def _all_namespaces(*, hidden: bool = False) -> Callable[[Function], Function]:
    return click.option("-A", "--all-namespaces", is_flag=True, hidden=hidden, help="All namespaces.")


def _source(auto: Auto) -> Callable[[Function], Function]:
    return click.option(
        "--source",
        default=AUTO,
        show_default=True,
        metavar="auto|live|local|FILE|https://...",
        help="The source of the answer: the running scheduler (live), this program with the objects of the API server "
        f"(local) or of a file, or a scheduler at an address. {auto.value}.",
    )


_NAMESPACE = {
    About.NAMESPACE: (_namespace("The namespace."), _all_namespaces()),
    About.MANIFESTS: (_namespace("The namespace of manifests that name none."), _all_namespaces(hidden=True)),
    About.CLUSTER: (_namespace(), _all_namespaces(hidden=True)),
}
_SCHEDULER = (
    click.option(
        "--release",
        default="",
        metavar="NAMESPACE[/NAME]",
        help="The release of Pilotage to ask, if there are several.",
    ),
    click.option(
        "--token-from",
        default="",
        metavar="NAMESPACE/SERVICEACCOUNT",
        help="Authenticate to the scheduler with a short-lived token of this account instead of the kubeconfig.",
    ),
)
