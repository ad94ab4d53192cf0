"""Measurements against a plain peer, with the limits that the project holds itself to: `make bench`."""
