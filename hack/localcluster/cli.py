"""The command line: kind's verbs, and a few of our own."""

import os
import shutil
import sys
from pathlib import Path

import click
import yaml

import images
from localcluster import kind_config, kubeconfig, lifecycle, node_images, real_kind, record
from localcluster.binaries import TOOLS, Tool, kubernetes, wanted_kubernetes
from localcluster.build import ensure
from localcluster.demo import demo
from localcluster.errors import Problem
from localcluster.record import SHAPES, Shape

NAME = click.option(
    "--name", "-n", default="kind", envvar="KIND_CLUSTER_NAME", show_default=True, help="The cluster's name."
)
KUBECONFIG = click.option(
    "--kubeconfig", "kubeconfig_path", type=click.Path(path_type=Path), help="The kubeconfig to change."
)
HELP = {"help_option_names": ["-h", "--help"]}


@click.group(context_settings=HELP)
@click.option("--verbosity", "-v", "--v", type=int, default=0, help="Accepted for compatibility with kind.")
@click.option("--quiet", "-q", is_flag=True, help="Print no progress.")
def main(verbosity: int, quiet: bool) -> None:
    """A real Kubernetes cluster on this machine, with kind's commands and without Docker.

    \b
    Example:
      hack/kind create cluster --name try --shape control-plane
      kubectl --context kind-try get nodes
      hack/kind delete cluster --name try
    """
    if quiet:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for the rest of the process


@main.group()
def create() -> None:
    """Create a cluster."""


@create.command("cluster")
@NAME
@KUBECONFIG
@click.option("--image", help="A kind node image; its tag chooses the Kubernetes version.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="A kind configuration file.")
@click.option("--wait", help="Accepted for compatibility with kind: the command always waits until nodes are Ready.")
@click.option("--retain", is_flag=True, help="Keep the cluster if its creation fails.")
@click.option(
    "--shape",
    type=click.Choice(SHAPES),
    default="full",
    envvar="PILOTAGE_SHAPE",
    show_default=True,
    help="full: real nodes, requires root. control-plane: fake nodes only.",
)
@click.option("--nodes", type=int, help="The number of real nodes. Default: 2.")
@click.option("--api-port", type=click.IntRange(1, 65535), help="The API server's port. Default: any free one.")
@click.option(
    "--scheduler/--no-scheduler", default=None, help="Run the stock kube-scheduler. Default: only in shape full."
)
@click.option(
    "--registry", "registries", multiple=True, help="A registry on this machine from which nodes pull: localhost:PORT."
)
@click.option("--fake-nodes", is_flag=True, help="Run kwok, so that there can be fake nodes beside the real ones.")
def create_cluster(
    name: str,
    kubeconfig_path: Path | None,
    image: str | None,
    config_file: Path | None,
    wait: str | None,
    retain: bool,
    shape: Shape,
    nodes: int | None,
    api_port: int | None,
    scheduler: bool | None,
    registries: tuple[str, ...],
    fake_nodes: bool,
) -> None:
    """Create a cluster and add it to the kubeconfig."""
    config = kind_config.read(config_file) if config_file else kind_config.KindConfig()
    version = kind_config.version_of_image(image) if image else config.kubernetes or wanted_kubernetes()
    named = click.get_current_context().get_parameter_source("name") != click.core.ParameterSource.DEFAULT
    wish = lifecycle.Wish(
        name=name if named else config.name or name,
        shape=shape,
        kubernetes=version,
        workers=nodes if nodes is not None else config.workers or 2,
        api_port=api_port or config.api_port,
        with_scheduler=shape == "full" if scheduler is None else scheduler,
        with_fake_nodes=fake_nodes or shape == "control-plane",
        kubeconfig=(kubeconfig_path or kubeconfig.default_path()).resolve(),
        retain=retain,
        feature_gates=config.feature_gates,
        runtime_config=config.runtime_config,
        registries=registries,
    )
    cluster = lifecycle.create(wish)
    click.echo(f"cluster {cluster.name} is ready; try: kubectl --context {cluster.context} get nodes", err=True)


@main.group()
def delete() -> None:
    """Delete clusters."""


@delete.command("cluster")
@NAME
@KUBECONFIG
def delete_cluster(name: str, kubeconfig_path: Path | None) -> None:
    """Delete one cluster; it is not an error if it does not exist."""
    _delete(name, kubeconfig_path)


@delete.command("clusters")
@click.argument("names", nargs=-1)
@click.option("--all", "-A", "every", is_flag=True, help="All clusters of this user.")
@KUBECONFIG
def delete_clusters(names: tuple[str, ...], every: bool, kubeconfig_path: Path | None) -> None:
    """Delete several clusters."""
    for name in [*record.cluster_names(), *real_kind.cluster_names()] if every else names:
        _delete(name, kubeconfig_path)


def _delete(name: str, kubeconfig_path: Path | None) -> None:
    record.check_name(name)
    if name in real_kind.cluster_names():
        real_kind.delete(name, kubeconfig_path)
        return
    lifecycle.delete(name)
    if kubeconfig_path:
        kubeconfig.remove(kubeconfig_path, f"kind-{name}")
    click.echo(f"cluster {name} is deleted", err=True)


@main.group()
def get() -> None:
    """Show clusters, nodes or a kubeconfig."""


@get.command("clusters")
def get_clusters() -> None:
    """List the clusters of this user, including those of the real kind."""
    names = sorted({*record.cluster_names(), *real_kind.cluster_names()})
    click.echo("\n".join(names) if names else "No kind clusters found.", err=not names)


@get.command("nodes")
@NAME
@click.option("--all-clusters", "-A", is_flag=True, help="The nodes of all clusters.")
def get_nodes(name: str, all_clusters: bool) -> None:
    """List the real nodes of a cluster."""
    for each in record.cluster_names() if all_clusters else [name]:
        for node in record.load_existing(each).nodes:
            click.echo(node)


@get.command("kubeconfig")
@NAME
@click.option("--internal", is_flag=True, help="Accepted for compatibility with kind: nodes use the same address.")
def get_kubeconfig(name: str, internal: bool) -> None:
    """Print the admin kubeconfig of a cluster."""
    click.echo(record.load_existing(name).identity_kubeconfig("admin").read_text(), nl=False)


@main.group("load")
def load_group() -> None:
    """Load images onto nodes."""


@load_group.command("docker-image")
@click.argument("names", nargs=-1, required=True, metavar="IMAGE...")
@NAME
@click.option("--nodes", default="", help="Only these nodes, comma-separated.")
def load_docker_image(names: tuple[str, ...], name: str, nodes: str) -> None:
    """Load images that were built here (make images)."""
    for image in names:
        node_images.load(record.load_existing(name), images.export(image), _names(nodes))


@load_group.command("image-archive")
@click.argument("archives", nargs=-1, required=True, type=click.Path(path_type=Path))
@NAME
@click.option("--nodes", default="", help="Only these nodes, comma-separated.")
def load_image_archive(archives: tuple[Path, ...], name: str, nodes: str) -> None:
    """Load image archives (docker save or OCI)."""
    for archive in archives:
        node_images.load(record.load_existing(name), archive, _names(nodes))


def _names(listed: str) -> list[str]:
    return [name for name in listed.split(",") if name]


@main.group()
def export() -> None:
    """Write logs or a kubeconfig to files."""


@export.command("logs")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@NAME
def export_logs(folder: Path | None, name: str) -> None:
    """Copy the logs of all components and containers."""
    cluster = record.load_existing(name)
    target = folder or Path.cwd() / f"{name}-logs"
    shutil.copytree(cluster.logs, target, dirs_exist_ok=True)
    if cluster.audit_log.exists():
        shutil.copy(cluster.audit_log, target)
    for number, node in enumerate(cluster.nodes, start=1):
        pods = cluster.folder / "nodes" / str(number) / "pods"
        if pods.is_dir():
            shutil.copytree(pods, target / node / "pods", dirs_exist_ok=True, ignore_dangling_symlinks=True)
    click.echo(f"logs are in {target}", err=True)


@export.command("kubeconfig")
@NAME
@KUBECONFIG
def export_kubeconfig(name: str, kubeconfig_path: Path | None) -> None:
    """Add a cluster to a kubeconfig."""
    entry = yaml.safe_load(record.load_existing(name).identity_kubeconfig("admin").read_text())
    kubeconfig.merge(kubeconfig_path or kubeconfig.default_path(), entry)


@main.command()
def version() -> None:
    """Print the Kubernetes version and the other pinned versions."""
    others = ", ".join(f"{tool.name} {tool.version}" for tool in TOOLS.values() if tool.module)
    click.echo(f"Pilotage's kind-compatible cluster tool, Kubernetes v{wanted_kubernetes()} ({others})")


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(program: str, arguments: tuple[str, ...]) -> None:
    """Run one of the pinned programs (kubectl, helm3, helm4, etcd, ...), building it first if necessary."""
    tool, command = _program(program)
    path = ensure(tool) / command
    os.execv(path, [str(path), *arguments])  # noqa: S606 - the program takes our place


@main.command()
@click.argument("programs", nargs=-1)
def build(programs: tuple[str, ...]) -> None:
    """Build pinned tools into the cache: kubernetes, etcd, kwok, ... (if none is named, all but kind and karpenter)."""
    for name in programs or ("kubernetes", *(name for name in TOOLS if name not in ("kind", "karpenter"))):
        click.echo(ensure(kubernetes(wanted_kubernetes()) if name == "kubernetes" else _program(name)[0]))


def _program(name: str) -> tuple[Tool, str]:
    if name in ("helm3", "helm4"):
        return TOOLS[name], "helm"
    for tool in (kubernetes(wanted_kubernetes()), *TOOLS.values()):
        if name in tool.commands or name == tool.name:
            return tool, name
    raise Problem(f"There is no pinned program {name!r}; there are {', '.join(TOOLS)}, kubernetes and its commands")


main.add_command(demo)
