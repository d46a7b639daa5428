"""Credentials and trusted authorities."""
