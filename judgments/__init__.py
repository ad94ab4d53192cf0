"""Judgments, decisions, preferences, qrels and exports, and the workers' pages."""
