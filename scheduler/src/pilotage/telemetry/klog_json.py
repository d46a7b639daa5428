"""Formats log records as JSON, one line each, with the field names of Kubernetes components."""

import json
import logging
from math import isfinite

from pilotage.telemetry.klog_text import caller, message_of, text_of, values_of
from pilotage.telemetry.verbosity import verbosity_of


class KlogJson(logging.Formatter):
    """Formats records as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line, whatever it contains."""
        found: dict[str, object] = {
            "ts": round(record.created * 1000, 3),
            "level": record.levelname.lower() if record.levelno > logging.INFO else "info",
            "caller": caller(record),
            "msg": message_of(record),
        }
        if record.levelno < logging.ERROR:
            found["v"] = verbosity_of(record.levelno)
        for name, value in values_of(record).items():
            found[f"{name}_" if name in found else name] = _plain(value)
        return json.dumps(found, separators=(",", ":"))  # ASCII: no control characters, no other line separators


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return int(value)
    if isinstance(value, float) and isfinite(value):
        return float(value)
    return text_of(value)
