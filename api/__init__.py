"""The REST API, its tokens, and webhooks that tell of what happened."""
