"""Runs the operator: one reconciler, and kopf's watchers that wake it, until stopped."""

import asyncio
import logging
import signal
from contextlib import suppress
from typing import Any, cast

import kopf

from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.cluster import Cluster, NotReachable, Refused, connect
from pilotage_operator.controllers.api import ControllerApi
from pilotage_operator.controllers.runtime import Controllers
from pilotage_operator.handlers import handlers, kopf_settings
from pilotage_operator.node_keeper import NodeKeeper
from pilotage_operator.pages import serving_health, serving_metrics
from pilotage_operator.profiles.unit_judge import UnitJudge
from pilotage_operator.reconciler import Reconciler
from pilotage_operator.sandbox.client import Sandbox
from pilotage_operator.settings import Settings
from pilotage_operator.values import ValuesFile

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_SIGNALS_TAKEN_AFTER = 1.0  # seconds
_WELL_AFTER = 60.0  # seconds of watching after which a failure counts as the first


async def operate(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    _on_signals(stop)
    asyncio.get_running_loop().set_exception_handler(unless_it_was_closed)
    cluster = connect(settings)
    sandbox = Sandbox()
    judge = UnitJudge(Judge(built_in(), rules=settings.outside), sandbox)
    reconciler = Reconciler(settings, cluster, judge, ValuesFile(settings.values_file))
    pause, loop = _FIRST_PAUSE, asyncio.get_running_loop()
    try:
        async with (
            serving_health(settings.liveness_port, reconciler.trouble),
            serving_metrics(settings.metrics_port, reconciler.metrics),
        ):
            while await _until_served(cluster, stop):
                started = loop.time()
                await _work(settings, cluster, reconciler, stop)
                pause = _FIRST_PAUSE if loop.time() - started > _WELL_AFTER else min(pause * 2, _LONGEST_PAUSE)
                await _sleep(pause, stop)
    finally:
        sandbox.close()
        await cluster.close()


def unless_it_was_closed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log uncaught errors, except those of kopf's streams, some of which are closed while being read at exit."""
    if "asyncgen" not in context:
        loop.default_exception_handler(context)


async def _until_served(cluster: Cluster, stop: asyncio.Event) -> bool:
    """Wait for the CRD, since kopf checks for it only once; False if stopped first."""
    pause = _FIRST_PAUSE
    while not stop.is_set():
        try:
            if await cluster.is_served():
                return True
            log.warning("the cluster does not serve SchedulerProfiles yet; install the CRD")
        except (NotReachable, Refused) as error:
            log.warning("the API server cannot be reached: %s", error)
        await _sleep(pause, stop)
        pause = min(pause * 2, _LONGEST_PAUSE)
    return False


async def _work(settings: Settings, cluster: Cluster, reconciler: Reconciler, stop: asyncio.Event) -> None:
    """Reconcile and run the controllers while kopf watches, until stopped or kopf fails.

    At its end kopf cancels every task created meanwhile, including those of a round, so all end together.
    """
    controllers = Controllers(ControllerApi(cluster), settings.controllers)
    keeper = NodeKeeper(settings, cluster)
    running = (stop.wait(), reconciler.run(), controllers.run(), keeper.run())
    ours = [asyncio.create_task(each) for each in running]
    watchers = asyncio.create_task(_watch(settings, cluster, reconciler))
    # kopf installs signal handlers at its start; ours replace them, to receive signals also while it exits.
    asyncio.get_running_loop().call_later(_SIGNALS_TAKEN_AFTER, _on_signals, stop)
    try:
        await asyncio.wait([ours[0], watchers], return_when=asyncio.FIRST_COMPLETED)
        if not watchers.done():
            return
        if error := watchers.exception():
            log.warning("the watches failed, restarting them: %s: %s", type(error).__name__, error)
        else:
            stop.set()  # only a signal ends them without an error
    finally:
        for task in (*ours, watchers):
            task.cancel()
        await asyncio.gather(*ours, watchers, return_exceptions=True)


async def _watch(settings: Settings, cluster: Cluster, reconciler: Reconciler) -> None:
    await kopf.operator(
        registry=handlers(cluster, reconciler),
        settings=kopf_settings(settings),
        namespaces=[settings.namespace],
        standalone=True,
        # Otherwise kopf looks up the user name, which a container may not have.
        identity=cast(Any, settings.instance),
    )


def _on_signals(stop: asyncio.Event) -> None:
    """Stop on signals."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
