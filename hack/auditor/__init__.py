"""An independent observer: it watches the API and its audit log, and reports what a scheduler must never do."""
