"""Reconciles SchedulerProfiles: renders the scheduler's configuration, and computes the statuses."""
