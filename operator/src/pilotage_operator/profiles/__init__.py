"""From SchedulerProfiles to the configuration that the scheduler reads, and back to the statuses."""
