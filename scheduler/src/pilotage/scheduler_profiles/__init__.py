"""SchedulerProfile: the resource, whether it can run, and the configuration that comes of it; no I/O."""
