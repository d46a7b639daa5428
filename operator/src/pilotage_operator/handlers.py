"""kopf's handlers: every change triggers the reconciler."""

import logging
from typing import Any

import kopf

from pilotage.scheduler_profiles.resource import GROUP, PLURAL, VERSION
from pilotage_operator.cluster import Cluster
from pilotage_operator.reconciler import Reconciler
from pilotage_operator.settings import Settings

_REQUEST_SECONDS = 10.0
_BACKOFFS = (0.5, 1, 2, 4, 8)
_SILENT_SECONDS = 70.0  # bookmarks come every minute
_STREAM_SECONDS = 600


def handlers(cluster: Cluster, reconciler: Reconciler) -> kopf.OperatorRegistry:
    """Return the handlers of one operator."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry, retries=3, backoff=1.0)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return await cluster.login()

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    @kopf.on.event("", "v1", "configmaps", registry=registry)
    @kopf.on.event("", "v1", "pods", registry=registry)
    @kopf.on.event("apps", "v1", "deployments", registry=registry)
    async def changed(body: kopf.Body, **_: Any) -> None:
        reconciler.watch_lag.reported((body["kind"], body.metadata["name"]), body.metadata.get("resourceVersion", ""))
        reconciler.something_changed()

    return registry


def kopf_settings(settings: Settings) -> kopf.OperatorSettings:
    """Return kopf's settings: only the required watches, and no writes."""
    # kopf logs every call of a handler, which here is every change of any object.
    logging.getLogger("kopf").setLevel(logging.WARNING)
    own = kopf.OperatorSettings()
    own.posting.enabled = False
    own.scanning.disabled = True
    own.peering.standalone = True
    own.process.ultimate_exiting_timeout = None  # it would also kill the process when only kopf is restarted
    own.networking.request_timeout = _REQUEST_SECONDS
    own.networking.connect_timeout = _REQUEST_SECONDS
    own.networking.error_backoffs = _BACKOFFS
    own.execution.default_backoff = 1.0
    own.queueing.exit_timeout = 0.5
    own.watching.connect_timeout = _REQUEST_SECONDS
    own.watching.inactivity_timeout = _SILENT_SECONDS
    own.watching.server_timeout = _STREAM_SECONDS
    own.watching.label_selectors["", "v1", "configmaps"] = settings.watched_config_maps
    # Without a Deployment, a name that cannot exist is watched.
    own.watching.field_selectors["apps", "v1", "deployments"] = f"metadata.name={settings.scheduler_deployment or '-'}"
    own.watching.label_selectors["", "v1", "pods"] = settings.scheduler_selector
    return own
