"""Leaderboards under a policy: sealed submissions, a release rule, public pages, and qrels that keep up."""
