"""Policy about shares of the cluster: who is sure of how much, and who gives back what is borrowed."""
