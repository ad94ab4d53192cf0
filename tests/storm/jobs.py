"""The platform's background workers, as Celery runs them: `python -m tests.storm.jobs`.

With `--without-token` no call carries the token by which the venue knows a repeated one: to show that the tests of
the storm would notice.
"""

import sys

import django


def main() -> None:
    """Start Celery's workers, and stay."""
    django.setup()
    from config.celery import app
    from tasks.venue import calls

    if "--without-token" in sys.argv:
        calls.token_of = lambda _operation: {}
    app.worker_main(["worker", "--loglevel", "WARNING", "--concurrency", "2", "--without-gossip", "--without-mingle"])


if __name__ == "__main__":
    main()
