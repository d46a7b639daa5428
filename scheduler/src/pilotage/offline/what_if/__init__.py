"""What-if: a request, a copy of the cluster to try it in, and the answer; nothing that runs is touched."""
