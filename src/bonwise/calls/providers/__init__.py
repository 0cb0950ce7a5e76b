"""Clients of services, one module each."""
