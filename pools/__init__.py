"""Campaigns, their settings, pools, pairs and rounds, and the versions of preference qrels."""
