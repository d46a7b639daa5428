"""Whether a release does what it is there for: its profiles are Ready, and its own replicas place their pods."""
