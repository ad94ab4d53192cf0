"""Collections with their queries, passages and qrels, runs, and the files that are read into them."""
