"""The workers' site."""
