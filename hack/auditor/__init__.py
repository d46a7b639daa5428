"""An independent observer of the API and its audit log, which reports violations by schedulers."""
