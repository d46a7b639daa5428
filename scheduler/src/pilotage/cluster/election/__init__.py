"""The Lease, and who holds it."""
