"""What the match of pods and NUMA zones is made of."""
