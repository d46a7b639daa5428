"""What quotas are made of while a pod is being placed: how they stand, and how they would after evictions."""
