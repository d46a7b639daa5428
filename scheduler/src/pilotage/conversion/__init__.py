"""What other schedulers were configured with, as SchedulerProfiles or as a configuration that is read today; no I/O."""
