"""Policy about volumes: where they can be reached, attached and provisioned."""
