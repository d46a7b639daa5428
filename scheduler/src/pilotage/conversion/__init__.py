"""Converts other schedulers' configurations to SchedulerProfiles or to the current configuration version; no I/O."""
