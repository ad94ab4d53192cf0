"""The web server in its container. WEB_WORKERS and WEB_THREADS say how many requests are answered at a time."""

import os

bind = "0.0.0.0:8000"
workers = int(os.environ.get("WEB_WORKERS") or 3)
worker_class = "gthread"
threads = int(os.environ.get("WEB_THREADS") or 8)
timeout = 120
graceful_timeout = 20
keepalive = 75  # longer than the proxy keeps an idle connection
worker_tmp_dir = "/tmp"  # noqa: S108 - the one writable place, and in memory
control_socket_disable = True
# No access log: the addresses of judging pages carry tokens. Errors go to the container's log.
accesslog = None
errorlog = "-"
