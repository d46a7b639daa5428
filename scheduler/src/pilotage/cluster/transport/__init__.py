"""Requests and answers: HTTP, TLS, connections, flow control."""
