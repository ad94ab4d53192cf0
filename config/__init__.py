"""Settings, URLs, the job queue, middleware and health checks."""
