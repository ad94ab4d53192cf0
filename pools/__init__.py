"""Collections, queries, passages, qrels, runs, campaigns, pools and pairs."""
