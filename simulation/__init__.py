"""Simulated people, on our pages and at the marketplace, and the demonstration."""
