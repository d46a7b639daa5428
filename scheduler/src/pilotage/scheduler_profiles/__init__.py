"""SchedulerProfile: the resource, its validation, and its rendering as configuration; no I/O."""
