"""What can be asked with kubectl and Python alone, which is all that the small plugin has."""
