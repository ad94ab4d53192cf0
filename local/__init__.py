"""Embedded PostgreSQL and Redis, the process supervisor, and `make run`."""
