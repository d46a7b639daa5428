"""The settings of the operator."""

from dataclasses import dataclass
from pathlib import Path

from pilotage.config.handshake import PLUGINS_LABEL
from pilotage.model.outside_services import OutsideRules

FIELD_MANAGER = "pilotage-operator"
NOTHING_LISTED = OutsideRules()


@dataclass(frozen=True)
class Settings:
    """The release that this operator manages, and the names of its objects."""

    namespace: str
    release: str
    fullname: str
    scheduler_deployment: str  # empty: none, if the scheduler is a plain process
    scheduler_selector: str
    scheduler_service_account: str
    config_map: str
    owner: str  # the ClusterRole that owns the profiles of the values; empty: no owner
    values_file: Path | None = None
    liveness_port: int = 0
    metrics_port: int = 0
    kubeconfig: str = ""
    controllers: tuple[str, ...] = ()  # the kinds whose controllers run
    taint_nodes: bool = False  # the nodes of profiles with spec.nodes.taint
    outside: OutsideRules = NOTHING_LISTED  # limits on external services of profiles

    @property
    def instance(self) -> str:
        """Return the name of this release in profiles."""
        return f"{self.namespace}/{self.release}"

    @property
    def release_label(self) -> str:
        """Return the same as a label value, without a slash."""
        return f"{self.namespace}.{self.release}"

    @property
    def config_label(self) -> str:
        """Return the label value of our own ConfigMap for the watch; it is not a valid release name."""
        return f"{self.release}.config"

    @property
    def watched_config_maps(self) -> str:
        """Return the selector of our own ConfigMap and of those with plugin files."""
        return f"{PLUGINS_LABEL} in ({self.release},{self.config_label})"

    @property
    def scheduler_user(self) -> str:
        """Return the scheduler's user name at the API server."""
        return f"system:serviceaccount:{self.namespace}:{self.scheduler_service_account}"


def settings_for(namespace: str, release: str, **given: object) -> Settings:
    """Return the settings of a release, with the chart's names by default (None)."""
    fullname = given.get("fullname") or release
    named: dict[str, object] = {
        "fullname": fullname,
        "scheduler_deployment": f"{fullname}-scheduler",
        "scheduler_selector": f"app.kubernetes.io/instance={release},app.kubernetes.io/component=scheduler",
        "scheduler_service_account": f"{fullname}-scheduler",
        "config_map": f"{fullname}-config",
        "owner": f"{fullname}-operator",
    }
    named |= {name: value for name, value in given.items() if value is not None and name != "fullname"}
    return Settings(namespace=namespace, release=release, **named)  # type: ignore[arg-type] # click checked them
