"""Reading files, pooling, tournaments, statistics and measures. No Django, database or network."""
