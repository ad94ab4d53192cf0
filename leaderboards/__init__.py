"""Leaderboards under a policy: sealed submissions, a release rule, public pages, upkeep."""
