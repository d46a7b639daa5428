"""Conversion of other schedulers' configuration to SchedulerProfiles or the current configuration version; no I/O."""
