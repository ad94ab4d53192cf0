"""Everything that reads. Call services.due.catch_up() first: then nothing read here is stale."""
