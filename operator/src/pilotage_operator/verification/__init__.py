"""Whether a release works: its profiles are Ready, and its own replicas place their pods."""
