"""Reading runs and qrels, pooling, preferences, tournaments and measures. No Django, no database, no network."""
