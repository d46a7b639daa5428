"""An outside witness: it watches the API and its audit log, and reports what a scheduler may never do."""
