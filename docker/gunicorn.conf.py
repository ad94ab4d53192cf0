"""The web server in its container. WEB_WORKERS and WEB_THREADS say how many requests are answered at a time."""

import os
import tempfile

from gunicorn.workers.gthread import ThreadWorker


class Worker(ThreadWorker):
    """A worker that closes the door when it leaves.

    gunicorn's own leaves the listening socket open until its last request is answered, and takes nothing from it any
    more: connections made meanwhile are reset. A proxy may send a GET again then, but no POST. Here the workers take
    what has come, and close. Whoever comes later is refused at once, and the proxy goes to another container.
    """

    def set_accept_enabled(self, enabled):
        """Begin or end to take connections; at the end of the worker, for good."""
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            for listener in self.sockets:
                before = -1
                while before != self.nr_conns:
                    before = self.nr_conns
                    self.accept(listener)
                listener.close()


# Where there are metrics, the workers count requests together, in files.
if os.environ.get("METRICS_TOKEN") or os.environ.get("MARKETPLACE_METRICS_TOKEN"):
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="metrics-")
bind = "0.0.0.0:8000"
workers = int(os.environ.get("WEB_WORKERS") or 3)
worker_class = Worker
threads = int(os.environ.get("WEB_THREADS") or 8)
timeout = 120
graceful_timeout = 20
keepalive = 75  # longer than the proxy keeps an idle connection
# Load the application before the socket is opened. Otherwise a container that starts takes connections at once, which
# wait until the application is loaded although another container could answer them.
preload_app = True
worker_tmp_dir = "/tmp"  # noqa: S108 - the one writable place, and in memory
control_socket_disable = True
# No access log: the addresses of judging pages carry tokens. Errors go to the container's log.
accesslog = None
errorlog = "-"
