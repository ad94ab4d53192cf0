"""Messages between workers and researchers through a platform."""
