"""What can be asked with kubectl and Python alone: the small plugin has nothing else, so nothing else is imported here."""
