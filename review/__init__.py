"""Decisions on work, one piece or many, disagreements, and what workers reported."""
