"""The operator of Pilotage: turns SchedulerProfile resources into a running configuration."""
