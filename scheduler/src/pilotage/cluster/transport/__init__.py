"""HTTP requests and responses, TLS, connections, and flow control."""
