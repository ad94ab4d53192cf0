"""Leaderboards without a site: entries and their order, the release rule, sealed packages, and their checks."""
