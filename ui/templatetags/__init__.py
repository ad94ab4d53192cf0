"""Tags of every template."""
