"""The REST API, the tokens that open it, and the webhooks that tell of what happened: one face over all packages."""
