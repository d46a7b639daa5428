"""Policy about spreading over a topology."""
