"""The flags that kubectl has, too: which cluster, as whom, which namespace, and how it is printed."""

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
    """Which cluster is asked, as whom, about which namespace, and who is to answer."""

    way: Way = field(default_factory=Way)
    namespace: str = ""  # "": that of the context
    all_namespaces: bool = False
    source: str = AUTO
    release: str = ""  # NAMESPACE or NAMESPACE/NAME
    token_from: str = ""  # NAMESPACE/SERVICEACCOUNT

    @property
    def is_file(self) -> bool:
        """Whether a file answers, and no cluster."""
        return self.source not in (AUTO, LIVE, LOCAL) and not self.is_address

    @property
    def is_address(self) -> bool:
        """Whether a scheduler is asked at an address of its own."""
        return self.source.startswith("https://")


class About(Enum):
    """What -n and -A are about."""

    NAMESPACE = "the objects of a namespace, or of all"
    MANIFESTS = "manifests that name no namespace"
    CLUSTER = "nothing: the answer is about the whole cluster, and both are accepted as kubectl accepts them"


class Auto(Enum):
    """Who answers by default."""

    SCHEDULER = "auto takes the scheduler if you may ask it, else local"
    PROGRAM = "auto takes local if your rights suffice, else live"


def asks_a_cluster(
    about: About = About.NAMESPACE, *, source: Auto | None = Auto.SCHEDULER
) -> Callable[[Function], Function]:
    """Add kubectl's flags to a command, whose function gets them as one `asked`."""

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
            "-o", "--output", type=click.Choice(formats), default="table", show_default=True, help="How it is printed."
        )
        return output(click.option("--no-headers", is_flag=True, help="Leave out the titles of columns.")(function))

    return add


def _asked(given: dict[str, Any]) -> Asked:
    """Take the flags out of all that was given."""
    way = Way(given.pop("kubeconfig"), given.pop("context"), given.pop("as_user"), given.pop("as_groups"))
    if way.groups and not way.user:
        raise BadInput("--as-group needs --as; name the user, too")
    namespace, everywhere = given.pop("namespace", ""), given.pop("all_namespaces", False)
    if namespace and everywhere:
        raise BadInput("-n names one namespace and -A all of them; leave one out")
    asked = Asked(way, namespace, everywhere, given.pop("source", AUTO), given.pop("release", ""))
    return replace(asked, token_from=given.pop("token_from", ""))


def _namespaces(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from pilotage.cli.candidates import namespaces  # only a shell that completes asks for it

    return namespaces(context, incomplete)


def _contexts(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from pilotage.cli.candidates import contexts

    return contexts(context, incomplete)


_WAY = (
    click.option("--kubeconfig", default="", metavar="FILE", help="How to reach the cluster. Default: as kubectl."),
    click.option(
        "--context",
        default="",
        metavar="NAME",
        shell_complete=_contexts,
        help="The context of the kubeconfig. Default: the current one.",
    ),
    click.option("--as", "as_user", default="", metavar="USER", help="Ask the API server as somebody else."),
    click.option("--as-group", "as_groups", multiple=True, metavar="GROUP", help="A group of --as. Can be repeated."),
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
        help="Who answers: the running scheduler (live), this program from what the API server has (local), or from a "
        f"file with manifests; {auto.value}.",
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
        help="Which release of Pilotage answers, if there are several.",
    ),
    click.option(
        "--token-from",
        default="",
        metavar="NAMESPACE/SERVICEACCOUNT",
        help="Show the scheduler a short-lived token of this account, not the credentials of the kubeconfig.",
    ),
)
