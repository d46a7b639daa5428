"""Services besides the API server: extenders and sources of load metrics."""
