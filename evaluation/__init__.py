"""Reading runs and qrels, pools, preferences, tournaments, measures, statistics. No Django, database or network."""
