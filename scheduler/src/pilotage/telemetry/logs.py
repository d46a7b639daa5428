"""Sets up logging to stderr, in klog's text format or as JSON.

Modules use `log = logging.getLogger(__name__)` and `log.info("...")`, or, with names and values,
`tell(log, V2, "Successfully bound pod to node", pod=pod.key, node=node)`.
"""

import logging

from pilotage.telemetry.klog_json import KlogJson
from pilotage.telemetry.klog_text import KlogText
from pilotage.telemetry.log_writer import LineWriter
from pilotage.telemetry.verbosity import Verbosity, parse_rules


def tell(log: logging.Logger, level: int, message: str, /, **values: object) -> None:
    """Log a message with names and values; costs almost nothing if the level is disabled."""
    if log.isEnabledFor(level):
        log.log(level, message, extra={"values": values}, stacklevel=2)


def set_up_logs(
    verbosity: int = 0, *, json: bool = False, vmodule: str = "", writer: LineWriter | None = None
) -> Verbosity:
    """Send all log records to stderr; returns the object that changes the verbosity."""
    for unused in ("logThreads", "logProcesses", "logMultiprocessing", "logAsyncioTasks"):
        setattr(logging, unused, False)  # never shown, and more expensive than all the rest
    rules = parse_rules(vmodule)
    writer = writer or LineWriter()
    writer.setFormatter(KlogJson() if json else KlogText())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(writer)
    logging.captureWarnings(True)
    return Verbosity(verbosity, rules)
