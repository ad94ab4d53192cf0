"""The results of a campaign in sections, each a module."""
