"""A recording for the README: an edited plugin on its way from `kubectl apply` to the next pod."""
