"""Policy about volumes: access, attachment limits and provisioning."""
