"""Measurements of speed and memory beside a peer, with the limits that the project holds itself to: `make bench`."""
