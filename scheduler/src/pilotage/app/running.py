"""Starts a scheduler with the options of the command line, and runs it until stopped."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable

from pilotage.app import Configured
from pilotage.app.clients import AGENT
from pilotage.app.config_follower import IDLE
from pilotage.app.hot_configuration import first_configuration
from pilotage.app.leaving_out import start_without_failing
from pilotage.app.live import Live
from pilotage.app.memory import keep_the_heap_small
from pilotage.app.memory_limit import limit_memory
from pilotage.app.options import Options
from pilotage.app.plugin_watch import remember_crashes, watch_calls
from pilotage.cluster.credentials.access import find
from pilotage.config.load import load
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage.telemetry.logs import set_up_logs
from pilotage.telemetry.verbosity import Verbosity

log = logging.getLogger(__name__)


async def run(ready: Configured, options: Options) -> int:
    """Run the scheduler until it is stopped; returns the exit code."""
    keep_the_heap_small()
    verbosity = set_up_logs(options.verbosity, json=options.logging_format == "json", vmodule=options.vmodule)
    if options.limits_memory:
        limit_memory()
    crash = remember_crashes(options.crash_record) if options.crash_record else None
    watch_calls(options.plugin_call_budget)
    stopped = asyncio.Event()
    _on_signals(stopped.set)
    first = None
    if options.config_map is not None:
        access = find(options.kubeconfig, master=options.master)
        ready, first = await first_configuration(ready, options.config_map, access, AGENT)
    live = Live(ready, options, verbosity) if first is None else begun(ready, options, verbosity, first)
    return await live.run(stopped, crash)


def begun(ready: Configured, options: Options, verbosity: Verbosity, first: str) -> Live:
    """Return a scheduler that follows a ConfigMap, with the profiles that can start."""
    try:
        live, left_out = start_without_failing(ready, lambda found: Live(found, options, verbosity, followed=first))
    except BrokenPlugin as error:
        log.error("a plugin cannot start, no pods are scheduled until the configuration changes: %s", error)
        return Live(Configured(load(IDLE, ready.catalogue), ready.catalogue), options, verbosity)
    live.leave_out(left_out)
    return live


def _on_signals(stop: Callable[[], None]) -> None:
    loop, told = asyncio.get_running_loop(), [False]

    def tell() -> None:
        if told[0]:
            os._exit(1)  # a second signal: do not wait
        told[0] = True
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, tell)
