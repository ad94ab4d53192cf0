"""Looking work over: decisions on assignments, many at once too, disagreements, and what workers reported."""
