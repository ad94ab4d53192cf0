"""All settings, driven by the environment, secure unless DEVELOPMENT is set.

| variable | meaning | default |
|---|---|---|
| DEVELOPMENT | conveniences for one machine: http, a generated secret key, localhost | off |
| SECRET_KEY | signs tokens and sessions | required, except in development |
| ALLOWED_HOSTS | host names that are served, with commas between | none; localhost in development |
| CSRF_TRUSTED_ORIGINS | origins with scheme behind a proxy, with commas between | none |
| SITE_URL | the address that people see, in links that are printed or sent | in development that of the running site |
| DATABASE_URL, REDIS_URL | PostgreSQL and Redis | embedded servers, see local/embedded.py |
| DATABASE_REPLICA_URL | a standby of the same server, from which exports and results are computed | none |
| DATABASE_STATEMENT_SECONDS | how long a statement may take, see below; 0 for no limit | web 60, jobs 1800, else 0 |
| DATABASE_CONNECT_SECONDS | how long connecting to PostgreSQL may take | 5 |
| REDIS_SECONDS | how long the cache and the rate limits wait for Redis | 1 |
| DATABASE_POOLER | whether a pooler such as PgBouncer is in front of PostgreSQL, in transaction mode | off |
| BESTKNOWN_VAR | where embedded servers, files and logs live | var/ beside manage.py |
| MEDIA_ROOT | where run files and artifacts are stored | the folder files/ in BESTKNOWN_VAR |
| FILES_BUCKET | an S3 bucket for run files and artifacts, reached with the usual AWS variables | none: a folder |
| FILES_DIRECT | whether large files go straight from and to the bucket, which browsers must reach | off |
| HSTS_SUBDOMAINS | whether https is asked of all names below this one too, and preloading allowed | off |
| UPLOAD_MEGABYTES | the largest upload, in MB; a proxy must let 5% more pass | 500 |
| BOARD_UPLOAD_MEGABYTES | the largest upload to a leaderboard, both runs together, in MB | 200 |
| CLIENT_ADDRESS_HEADER | where the proxy puts the client's address, such as HTTP_X_REAL_IP | REMOTE_ADDR |
| RATE_LIMITS | limits on log-ins and on opening campaign links | on |
| LOG_FORMAT | `json`, a line of JSON for each record, or `text` | json; text in development |
| SENTRY_DSN | where a Sentry takes reports of errors | none |
| OTEL_EXPORTER_OTLP_ENDPOINT | what takes traces by OpenTelemetry's protocol, such as http://collector:4318 | none |
| EMAIL_URL | how mail is sent, such as smtp+tls://user:password@mail.example.org:587 | not; development: console |
| EMAIL_FROM | whom mail comes from | bestknown@ the host of SITE_URL |
| OIDC_URL | an OpenID Connect provider that people may log in with | none |
| OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_NAME | this site's id and secret there, and what its button says | none |
| AUDIT_KEEP_DAYS | after how many days entries of the audit are removed, at least 30; 0 keeps them | 1095 |
| DATASET_DOWNLOAD_BYTES | how much a public collection may have to download to be fetched from a page | 2000000000 |
| WEBHOOK_PORTS | ports of the addresses that webhooks may call | 443; in development any |
| WEBHOOK_NETWORKS | networks that webhooks may call beside the internet, as 10.1.0.0/16 | none; development: nearby |
| METRICS_TOKEN | who sends it may read /metrics; at least 16 characters | none: nothing is measured |
| MARKETPLACE_URL | the marketplace that campaigns are published to | in development that of make run |
| MARKETPLACE_SUBMIT_HOST | where its frames post finished work | MARKETPLACE_URL |
| MARKETPLACE_NOTIFICATION_SECRET | the secret of the access key that its notifications are signed with | none taken |
| MACHINE_API_URL | an endpoint of OpenAI's protocol to ask machine judges at, as https://host/v1 | none: off |
| MACHINE_API_TOKEN | the token that it takes | none |
| PROLIFIC_API_URL | where Prolific's API answers | https://api.prolific.com/api/v1/ |
| PROLIFIC_APP_URL | where Prolific's participants go back to with a completion code | https://app.prolific.com |
"""

import hashlib
import ipaddress
import json
import os
import secrets
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from botocore.config import Config  # type: ignore[import-untyped]
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu import Exchange, Queue
from redis.backoff import NoBackoff
from redis.retry import Retry

from core import logs
from core.database import connection_options
from core.job_status import QUEUES, broker_url

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEVELOPMENT = env.bool("DEVELOPMENT", default=False)
DEBUG = False
VAR = Path(env.str("BESTKNOWN_VAR", default="") or BASE_DIR / "var").expanduser().resolve()


def _remembered(file: str) -> dict[str, str]:
    """What the site that runs in this folder has written down about itself; nothing outside of development."""
    try:
        return dict(json.loads((VAR / file).read_text())) if DEVELOPMENT else {}
    except (OSError, ValueError):
        return {}


def _development_key() -> str:
    """This folder's own secret key, made on the first start and kept where only its owner can read it."""
    path = VAR / "secret_key"
    VAR.mkdir(parents=True, exist_ok=True)
    draft = VAR / f".secret_key.{os.getpid()}.{secrets.token_hex(4)}"
    if not path.exists():
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, path)  # atomic, and leaves the key of a start that came first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


SECRET_KEY = env.str("SECRET_KEY", default="")
if not SECRET_KEY:
    if not DEVELOPMENT:
        raise ImproperlyConfigured("Set SECRET_KEY to a long random text (or DEVELOPMENT=1 on your own machine).")
    SECRET_KEY = _development_key()
# In the name of every cookie: browsers send them to all ports of a host, so to every site there.
COOKIE_MARK = hashlib.sha256(f"cookies {SECRET_KEY}".encode()).hexdigest()[:8]

PORT = int(env.str("PORT", default="") or 8000)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if DEVELOPMENT else [])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
_here = f"http://localhost:{PORT}" if DEVELOPMENT else ""
if not os.environ.get("PORT"):  # a command beside the site prints links to it, whatever its port
    _here = _remembered("site.json").get("url", _here)
SITE_URL = (env.str("SITE_URL", default="") or _here).rstrip("/")

# From what on a campaign that is open raises an alarm: the shares of its newest checked assignments that failed a test
# pair, and that were judged faster than anybody reads; hours without accepted work, and hours in which nobody comes.
ALARM_FAILING_SHARE = env.float("ALARM_FAILING_SHARE", default=0.3)  # of the last 50 assignments
ALARM_FAST_SHARE = env.float("ALARM_FAST_SHARE", default=0.3)
ALARM_STALLED_HOURS = env.float("ALARM_STALLED_HOURS", default=24.0)
ALARM_NOBODY_HOURS = env.float("ALARM_NOBODY_HOURS", default=4.0)
AUDIT_KEEP_DAYS = int(env.str("AUDIT_KEEP_DAYS", default="") or 1095)
if 0 < AUDIT_KEEP_DAYS < 30:
    raise ImproperlyConfigured(
        f"AUDIT_KEEP_DAYS is {AUDIT_KEEP_DAYS}: entries are kept for 30 days at least, or (0) all."
    )

DATASET_DOWNLOAD_BYTES = int(env.str("DATASET_DOWNLOAD_BYTES", default="") or 2_000_000_000)

# Dollars an hour below which researchers are warned.
HOURLY_FLOOR = Decimal(env.str("HOURLY_FLOOR", default="") or "8.00")
HOURLY_FLOOR_GBP = Decimal(env.str("HOURLY_FLOOR_GBP", default="") or "6.00")  # of campaigns that pay in pounds

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "rest_framework",
    "rollout",
    "template_partials",
    "ui",
    "config",
    "core",
    "runs",
    "pools",
    "tasks",
    "platforms",
    "judgments",
    "review",
    "protection",
    "machines",
    "results",
    "campaigns",
    "leaderboards",
    "api",
    "drf_spectacular",
    "simulation",
]
MIDDLEWARE = [
    "config.middleware.RequestIds",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.PrivatePages",
    "config.middleware.LargePieces",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.WorkersLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.SessionsEnd",
    "config.middleware.AuditNamesWhoActs",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.middleware.HeadStaysHere",
    "config.middleware.RefusalsAsPages",
    "config.middleware.RolesAreKept",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.health.job_notice",
            ],
            "builtins": ["template_partials.templatetags.partials", "ui.templatetags.typed"],
        },
    }
]

# PostgreSQL and Redis. Commands that need no services (manage.py check) may run without either address.
DATABASES = {"default": env.db_url("DATABASE_URL", default="postgres://localhost/bestknown")}
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# No process waits for ever. A web server (config/wsgi.py) gives up sooner than a job (config/celery.py); commands such
# as migrate have no limit.
DATABASE_STATEMENT_SECONDS = float(env.str("DATABASE_STATEMENT_SECONDS", default="") or 0)
_bounds = connection_options(DATABASE_STATEMENT_SECONDS, int(env.str("DATABASE_CONNECT_SECONDS", default="") or 5))
# A pooler in transaction mode gives each transaction another connection: cursors and locks must not outlive one, and
# limits, which are given to a session, are the pooler's to set.
DATABASE_POOLER = env.bool("DATABASE_POOLER", default=False)
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = DATABASE_POOLER
if DATABASE_POOLER:
    _bounds.pop("options", None)
_given = DATABASES["default"].get("OPTIONS", {})
DATABASES["default"]["OPTIONS"] = _bounds | _given
if "options" in _bounds and "options" in _given:  # of two values of a setting, the last counts
    DATABASES["default"]["OPTIONS"]["options"] = f"{_bounds['options']} {_given['options']}"
DATABASE_REPLICA: dict[str, Any] = {}
if _replica := env.str("DATABASE_REPLICA_URL", default=""):
    DATABASE_REPLICA = dict(env.db_url_config(_replica))
    DATABASE_REPLICA["OPTIONS"] = DATABASES["default"]["OPTIONS"] | DATABASE_REPLICA.get("OPTIONS", {})
REDIS_SECONDS = float(env.str("REDIS_SECONDS", default="") or 1)
REDIS_URL = env.str("REDIS_URL", default="redis://localhost:6379/0")
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {
            "IGNORE_EXCEPTIONS": True,  # pages are served, and choices saved, while Redis is away
            "SOCKET_CONNECT_TIMEOUT": REDIS_SECONDS,
            "SOCKET_TIMEOUT": REDIS_SECONDS,
            "CONNECTION_POOL_KWARGS": {"retry": Retry(NoBackoff(), 0)},
            "REDIS_CLIENT_CLASS": "core.cache.PausingRedis",  # one page asks several times
        },
    },
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},  # no call, whatever becomes of Redis
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = broker_url(REDIS_URL)
# A job that nobody has acknowledged for that long goes to another worker: longer than any may take.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "visibility_timeout": 2 * 3600}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2}  # a page may be waiting
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # workers wait for Redis as long as it takes
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Three queues, each with workers of its own, so that nothing that computes for minutes delays paying.
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in QUEUES]
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    "platforms.jobs.reconcile": {"queue": "default"},  # it asks about every HIT that can still change
    "platforms.jobs.watch_balances": {"queue": "default"},
    "platforms.jobs.look_at_balance": {"queue": "default"},
    "platforms.jobs.hear": {"queue": "default"},
    "platforms.jobs.keep_notifications": {"queue": "default"},
    "platforms.jobs.compare": {"queue": "default"},
    "platforms.jobs.sync_whole": {"queue": "default"},
    "platforms.jobs.messages": {"queue": "default"},
    "platforms.jobs.*": {"queue": "money"},
    "runs.jobs.*": {"queue": "compute"},
    "judgments.jobs.check": {"queue": "money"},  # what is paid waits for it
    "judgments.jobs.advance_rounds": {"queue": "default"},
    "protection.jobs.keep_periods": {"queue": "default"},
    "protection.jobs.erase_campaign": {"queue": "default"},
    "review.jobs.*": {"queue": "default"},
    "judgments.jobs.*": {"queue": "compute"},
    "protection.jobs.*": {"queue": "compute"},
    "machines.jobs.*": {"queue": "compute"},
    "results.jobs.finish_campaigns": {"queue": "default"},
    "results.jobs.*": {"queue": "compute"},
    "leaderboards.upkeep.jobs.*": {"queue": "compute"},
    "tasks.jobs.*": {"queue": "compute"},
    "leaderboards.jobs.forget": {"queue": "default"},
    "leaderboards.jobs.draw_spot_checks": {"queue": "default"},
    "leaderboards.jobs.check_seasons": {"queue": "default"},
    "leaderboards.jobs.*": {"queue": "compute"},
    "api.jobs.*": {"queue": "default"},
    "core.jobs.*": {"queue": "default"},
}
# A job that takes longer is told to end (an error like any other: it raises an alarm), and a minute later killed.
CELERY_TASK_SOFT_TIME_LIMIT, CELERY_TASK_TIME_LIMIT = 30 * 60, 31 * 60
CELERY_TASK_ANNOTATIONS = {
    name: {"soft_time_limit": 90 * 60, "time_limit": 91 * 60}
    for name in (
        "runs.jobs.work",
        "tasks.jobs.pack_waiting_campaigns",
        "judgments.jobs.make_exports",
        "results.jobs.compute_results",
        "results.jobs.add_versions",
        "results.jobs.score_versions",
        "results.jobs.compare_machines",
        "leaderboards.jobs.evaluate",
        "leaderboards.jobs.score_dev",
    )
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULER = "config.clock:LeasedScheduler"
CELERY_BEAT_SCHEDULE = {
    "read what was sent and create campaigns": {"task": "runs.jobs.work", "schedule": 30.0},
    "keep counts short and right": {"task": "pools.jobs.keep_counts", "schedule": 60.0},
    "pack campaigns that wait": {"task": "tasks.jobs.pack_waiting_campaigns", "schedule": 30.0},
    "publish HITs and send planned calls": {"task": "platforms.jobs.publish", "schedule": 15.0},
    "ask platforms what was submitted": {"task": "platforms.jobs.sync", "schedule": 60.0},
    "keep platforms' notifications on": {"task": "platforms.jobs.keep_notifications", "schedule": 60.0},
    "read and send messages": {"task": "platforms.jobs.messages", "schedule": 60.0},
    "check the test pairs of confirmed work": {"task": "judgments.jobs.check", "schedule": 60.0},
    "count what workers did": {"task": "judgments.jobs.summarize", "schedule": 20.0},
    "look for problems and mail them": {"task": "review.jobs.watch", "schedule": 300.0},
    "plan and ask rounds": {"task": "judgments.jobs.advance_rounds", "schedule": 30.0},
    "carry out decisions on many": {"task": "review.jobs.decide", "schedule": 30.0},
    "make export files": {"task": "judgments.jobs.make_exports", "schedule": 60.0},
    "compute results": {"task": "results.jobs.compute_results", "schedule": 60.0},
    "make versions that were asked for": {"task": "results.jobs.add_versions", "schedule": 30.0},
    "score runs on versions of the preference qrels": {"task": "results.jobs.score_versions", "schedule": 60.0},
    "ask machine judges": {"task": "machines.jobs.ask_machines", "schedule": 30.0},
    "compare machine judges with people": {"task": "results.jobs.compare_machines", "schedule": 60.0},
    "decide on submitted work and pay": {"task": "platforms.jobs.settle", "schedule": 60.0},
    "ask for more work where it is needed": {"task": "platforms.jobs.requeue", "schedule": 120.0},
    "look whether the money will last": {"task": "platforms.jobs.watch_balances", "schedule": 600.0},
    "keep the answers of leaderboards current": {"task": "leaderboards.upkeep.jobs.keep_up", "schedule": 60.0},
    "finish campaigns": {"task": "results.jobs.finish_campaigns", "schedule": 60.0},
    "evaluate submissions to leaderboards": {"task": "leaderboards.jobs.evaluate", "schedule": 20.0},
    "publish the eval qrels of closed seasons": {"task": "leaderboards.jobs.publish_qrels", "schedule": 900.0},
    "check how sure the orders of leaderboards are": {"task": "leaderboards.jobs.check_orders", "schedule": 3600.0},
    "draw entries of leaderboards for spot checks": {"task": "leaderboards.jobs.draw_spot_checks", "schedule": 3600.0},
    "look at the entries of seasons that have changed": {"task": "leaderboards.jobs.check_seasons", "schedule": 300.0},
    "score runs on dev queries": {"task": "leaderboards.jobs.score_dev", "schedule": 20.0},
    "send mails": {"task": "core.jobs.send_mails", "schedule": 30.0},
    "delete files of leaderboards that no row names": {
        "task": "leaderboards.jobs.delete_unnamed_files",
        "schedule": 6 * 3600.0,
    },
    "forget invitations to leaderboards that have expired": {"task": "leaderboards.jobs.forget", "schedule": 3600.0},
    "forget old tokens and answers of the API": {"task": "api.jobs.clear", "schedule": 3600.0},
    "tell webhooks what happened": {"task": "api.jobs.deliver", "schedule": 15.0},
    "tell webhooks how much work was submitted": {"task": "api.jobs.count_submitted", "schedule": 300.0},
    "compare with the platforms": {"task": "platforms.jobs.reconcile", "schedule": 60.0},
    "erase what labs have kept long enough": {"task": "protection.jobs.keep_periods", "schedule": 3600.0},
    "remove old entries of the audit": {"task": "core.jobs.expire_audit", "schedule": 3600.0},
}
for _entry in CELERY_BEAT_SCHEDULE.values():  # where the workers are behind, the next of its kind does the work
    _entry["options"] = {"expires": _entry["schedule"]}

# Files
FILES_BUCKET = env.str("FILES_BUCKET", default="")
FILES_DIRECT = bool(FILES_BUCKET) and env.bool("FILES_DIRECT", default=False)
MEDIA_ROOT = env.str("MEDIA_ROOT", default=str(VAR / "files"))
STATIC_URL = "/static/"
STATIC_ROOT = env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles"))
STATICFILES_DIRS = [BASE_DIR / "static"]
BUCKET_OPTIONS = {
    "max_memory_size": 8 << 20,  # of a file that is read; what is larger goes to disk
    # an unreachable bucket is reported within seconds
    "client_config": Config(
        connect_timeout=3, read_timeout=20, retries={"total_max_attempts": 2}, signature_version="s3v4"
    ),
}
STORAGES = {
    "default": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": BUCKET_OPTIONS | {"bucket_name": FILES_BUCKET}}
    if FILES_BUCKET
    else {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEVELOPMENT
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEVELOPMENT
WHITENOISE_AUTOREFRESH = False
UPLOAD_MEGABYTES = env.int("UPLOAD_MEGABYTES", default=500)
# Both runs of a submission together. Sealing them takes some four times as much memory.
BOARD_UPLOAD_MEGABYTES = env.int("BOARD_UPLOAD_MEGABYTES", default=200)
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
DATA_UPLOAD_MAX_NUMBER_FILES = 200  # of one request, and of one upload into a collection

# People
AUTH_USER_MODEL = "core.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "campaigns:campaigns"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_ADAPTER = "core.accounts.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email", "username*", "password1*", "password2*"]
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Bestknown: "
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_CHANGE_EMAIL = True  # one address each; a new one counts once it is confirmed
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "http" if DEVELOPMENT else "https"
ACCOUNT_LOGOUT_REDIRECT_URL = "login"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_FORMS = {"login_webauthn": "core.login.PasskeyLogin"}
MFA_ALLOW_UNVERIFIED_EMAIL = True  # accounts come by invitation: nobody takes another's address first
MFA_TOTP_ISSUER = "Bestknown"
MFA_TOTP_TOLERANCE = 1  # phones whose clocks are half a minute off
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = DEVELOPMENT
OIDC_URL = env.str("OIDC_URL", default="")
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {}
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True  # it logs in who has an account with the address that the provider confirms
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
if OIDC_URL:
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "university",
                "name": env.str("OIDC_NAME", default="") or "your institution",
                "client_id": env.str("OIDC_CLIENT_ID"),
                "secret": env.str("OIDC_CLIENT_SECRET"),
                "settings": {"server_url": OIDC_URL},
            }
        ],
    }

# Mail
_email_url = env.str("EMAIL_URL", default="") or ("consolemail://" if DEVELOPMENT else "dummymail://")
vars().update(environ.Env.email_url_config(_email_url))
EMAIL_TIMEOUT = 10
HAS_MAIL = not _email_url.startswith(("dummymail:", "consolemail:"))  # what goes to a console reaches nobody
DEFAULT_FROM_EMAIL = SERVER_EMAIL = (
    env.str("EMAIL_FROM", default="") or f"bestknown@{urlsplit(SITE_URL).hostname or 'localhost'}"
)

LANGUAGE_CODE = "en"
# Of the workers' pages; everything else is in English. Campaigns speak any language.
LANGUAGES = [
    ("en", "English"),
    ("ar", "العربية"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("zh-hans", "简体中文"),
]
USE_TZ = True
TIME_ZONE = "UTC"
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["config.formats"]
# Workers choose the language of their pages, in a platform's frame too, where browsers want `None` over https.
LANGUAGE_COOKIE_NAME = f"worker-language-{COOKIE_MARK}"
LANGUAGE_COOKIE_AGE = 60 * 60 * 24 * 90
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SECURE = not DEVELOPMENT
LANGUAGE_COOKIE_SAMESITE = "Lax" if DEVELOPMENT else "None"

# Security
SESSION_COOKIE_AGE = 8 * 3600  # seconds without any use, after which a log-in ends
SESSION_RENEWED = 300
SESSION_LONGEST = 14 * 86_400
SESSION_COOKIE_NAME = f"session-{COOKIE_MARK}"
CSRF_COOKIE_NAME = f"csrf-{COOKIE_MARK}"
MESSAGE_STORAGE = "core.messages.Messages"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "ui.typed.refuse_token"
SECURE_REFERRER_POLICY = "same-origin"  # addresses contain tokens, which must not leave with a link
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        # logging in elsewhere is a form that is answered with a redirect
        "form-action": [SELF, *([f"https://{urlsplit(OIDC_URL).netloc}"] if OIDC_URL else [])],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
if not DEVELOPMENT:
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz(/all)?$"]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.bool("HSTS_SUBDOMAINS", default=False)
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # the names below this one may belong to someone else
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
RATELIMIT_ENABLE = env.bool("RATE_LIMITS", default=True)
RATELIMIT_FAIL_OPEN = True
if not RATELIMIT_ENABLE:
    ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
CLIENT_ADDRESS_HEADER = env.str("CLIENT_ADDRESS_HEADER", default="") or "REMOTE_ADDR"
RATELIMIT_IP_META_KEY = "core.addresses.client_address"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["api.access.BearerToken"],
    "DEFAULT_PERMISSION_CLASSES": ["api.access.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["api.access.PerToken"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "api.access.OnlyJson",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "api.access.Pages",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_METADATA_CLASS": "api.access.NoFields",
    "DEFAULT_SCHEMA_CLASS": "api.schema.Described",
    "EXCEPTION_HANDLER": "api.problems.answer_exception",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Bestknown",
    "DESCRIPTION": (
        "What the pages do, for programs. docs/api.md is the guide. Times are UTC, amounts are text, in "
        "dollars or a campaign's currency, lists come in pages by cursor, and errors are problem details (RFC 9457)."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PREPROCESSING_HOOKS": ["api.schema.only_api"],
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "api.schema.finish"],
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "CorrectionEnum": "pools.models.Campaign.Correction",
        "CampaignState": "pools.models.Campaign.State",
        "JobState": "runs.models.Job.State",
        "JobKind": "runs.models.Job.Kind",
        "PublicationState": "platforms.models.Publication.State",
        "PaymentState": "platforms.models.Payment.State",
        "BoardSubmissionState": "leaderboards.models.Submission.State",
        "BoardDecisionKind": "leaderboards.models.Decision.Kind",
        "BoardDecisionWanted": "api.board_shapes.DECISIONS",
        "MetadataRequestKind": "leaderboards.models.MetadataRequest.Kind",
        "MetadataRequestState": "leaderboards.models.MetadataRequest.State",
        "DevScoringState": "leaderboards.models.DevScoring.State",
        "UpkeepRoundState": "leaderboards.models.UpkeepRound.State",
        "AssignmentState": "tasks.models.Assignment.State",
        "TestPairState": "tasks.models.TestPair.State",
        "DecisionKind": "judgments.models.Decision.Kind",
        "PublishedTo": "platforms.models.PUBLISHED_TO.items",
    },
}

LOG_FORMAT = env.str("LOG_FORMAT", default="") or ("text" if DEVELOPMENT else "json")
if LOG_FORMAT not in ("text", "json"):
    raise ImproperlyConfigured(f"LOG_FORMAT is '{LOG_FORMAT}', neither text nor json.")
logs.install()  # addresses carry tokens, and no log may hold one
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "{asctime} {levelname} {name} {request_id}: {message}", "style": "{"},
        "json": {"()": "core.logs.JsonLines"},
    },
    "filters": {
        "short outages": {"()": "core.outage.ShortOutages"},
        "idle jobs": {"()": "core.idle_logs.LeaveOutIdleJobs"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["short outages"]}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "gunicorn.error": {"handlers": ["console"], "propagate": False},  # of its workers, from here on
        "httpx": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
        "fontTools": {"level": "WARNING"},
        # the same nine jobs, sent and received, several times a minute; what they did is logged when they end
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"filters": ["idle jobs"]},
    },
}

# Where errors are reported, beside the log. What is not set is not loaded, either.
SENTRY_DSN = env.str("SENTRY_DSN", default="")
if SENTRY_DSN:
    from config import error_reports

    error_reports.install(SENTRY_DSN)
    LOGGING["filters"]["reported"] = {"()": "config.error_reports.LeaveOutOutages"}
    LOGGING["handlers"]["reports"] = {
        "class": "sentry_sdk.integrations.logging.EventHandler",
        "level": "ERROR",
        "filters": ["reported"],
    }
    LOGGING["root"]["handlers"].insert(0, "reports")  # the other shortens what outages say

# Where traces are sent, beside other OTEL_… variables, which OpenTelemetry reads itself.
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")

METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
if METRICS_TOKEN:
    if len(METRICS_TOKEN) < 16:
        raise ImproperlyConfigured("METRICS_TOKEN has less than 16 characters. Make one with: openssl rand -hex 32")
    MIDDLEWARE.insert(0, "config.metrics.Metrics")

# Webhooks: what labs may have called.
_NEARBY = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
WEBHOOK_NETWORKS = env.list("WEBHOOK_NETWORKS", default=_NEARBY if DEVELOPMENT else [])
_ports = env.list("WEBHOOK_PORTS", default=[])
try:
    WEBHOOK_PORTS = frozenset(int(port) for port in _ports) or (None if DEVELOPMENT else frozenset({443}))
    WEBHOOK_NETWORKS = [str(ipaddress.ip_network(network.strip())) for network in WEBHOOK_NETWORKS]
except ValueError as error:
    raise ImproperlyConfigured(
        f"WEBHOOK_PORTS takes numbers, and WEBHOOK_NETWORKS networks such as 10.1.0.0/16, with commas between: {error}."
    ) from error

# The platform that campaigns are published to. Its access keys come the AWS way (AWS_ACCESS_KEY_ID …, or a profile).
# In development, a command beside `make run` finds its marketplace and the key that it has there.
MARKETPLACE_URL = env.str("MARKETPLACE_URL", default="").rstrip("/")
MARKETPLACE_KEY: tuple[str, str] | None = None
if not MARKETPLACE_URL and DEVELOPMENT:
    _market = _remembered("marketplace.json")
    MARKETPLACE_URL = _market.get("url", "http://localhost:8001")
    if "url" in _market and "aws_secret_access_key" in _market:
        MARKETPLACE_KEY = (_market["aws_access_key_id"], _market["aws_secret_access_key"])
MARKETPLACE_SUBMIT_HOST = env.str("MARKETPLACE_SUBMIT_HOST", default=MARKETPLACE_URL).rstrip("/")
# Without it no notifications are taken, and submitted work is found by asking.
MARKETPLACE_NOTIFICATION_SECRET = env.str("MARKETPLACE_NOTIFICATION_SECRET", default="")
# Machine judges are asked there, in OpenAI's protocol. Empty: nobody can have one asked, and no text leaves this site.
MACHINE_API_URL = env.str("MACHINE_API_URL", default="").rstrip("/")
MACHINE_API_TOKEN = env.str("MACHINE_API_TOKEN", default="")
if MACHINE_API_URL and urlsplit(MACHINE_API_URL).scheme not in ("http", "https"):
    raise ImproperlyConfigured("MACHINE_API_URL has to begin with http:// or https://.")
# Prolific has no sandbox: other addresses are those of something that answers as Prolific does, for a trial.
PROLIFIC_API_URL = env.str("PROLIFIC_API_URL", default="https://api.prolific.com/api/v1/").rstrip("/") + "/"
PROLIFIC_APP_URL = env.str("PROLIFIC_APP_URL", default="https://app.prolific.com").rstrip("/")
