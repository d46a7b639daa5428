"""The read API of a running scheduler: who may ask what, how much it may cost, and how answers travel."""
