"""Settings, URLs, the job queue, middleware and health checks."""

import gc

# What a program loads stays, and the garbage collector would look through all of it again and again meanwhile. It comes
# less often in every program of the site, which makes its start a quarter shorter.
gc.set_threshold(50_000, 20, 100)
