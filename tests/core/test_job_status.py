"""What jobs write down, and where."""

import pytest
from kombu import Connection

from core.job_status import broker_url, redis_at


@pytest.mark.parametrize(
    "url",
    [
        "unix:///tmp/redis.sock",
        "unix:///tmp/redis.sock?db=3",
        "unix:///tmp/redis.sock?db=3&socket_timeout=2",
        "redis://localhost:6379",
        "redis://localhost:6379/0",
        "redis://:a%2Fpass@redis.example:6380/5",
        "redis://redis.example:6380?db=4",
    ],
)
def test_celery_finds_the_same_database_of_the_same_server(url: str) -> None:
    ours = redis_at(url).connection_pool.connection_kwargs
    with Connection(broker_url(url)) as connection:
        channel = object.__new__(connection.transport.Channel)  # one that is made opens a connection
        channel.connection = connection.transport
        channel.active_fanout_queues = set()
        theirs = channel._connparams()
    assert int(theirs["db"]) == int(ours.get("db") or 0)
    for what in ("host", "port", "path", "password"):
        assert theirs.get(what) == ours.get(what) or ours.get(what) is None, what
