"""What people and programs may read about a scheduler: functions from its state to answers."""
