"""The marketplace's settings, driven by the environment, secure unless DEVELOPMENT is set.

docs/marketplace.md says what each variable means.
"""

import hashlib
import ipaddress
import json
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from marketplace import logs

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEVELOPMENT = env.bool("DEVELOPMENT", default=False)
DEBUG = False


def _folder() -> Path:
    """What this folder's programs keep on a machine for development."""
    return Path(env.str("BESTKNOWN_VAR", default="") or BASE_DIR / "var").expanduser().resolve()


def _development_database() -> str:
    """The address of the database that make run made, if it did."""
    path = _folder() / "marketplace.json"
    database = json.loads(path.read_text()).get("database") if DEVELOPMENT and path.exists() else None
    return database or "postgres://localhost/marketplace"


def _development_key() -> str:
    """This folder's own secret key, made on the first start and kept where only its owner can read it."""
    folder = _folder()
    path = folder / "marketplace_secret_key"
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".marketplace_secret_key.{os.getpid()}.{secrets.token_hex(4)}"
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


SECRET_KEY = env.str("MARKETPLACE_SECRET_KEY", default="")
if not SECRET_KEY:
    if not DEVELOPMENT:
        raise ImproperlyConfigured(
            "Set MARKETPLACE_SECRET_KEY to a long random text (or DEVELOPMENT=1 on your own machine)."
        )
    SECRET_KEY = _development_key()
# In the name of every cookie: browsers send them to all ports of a host, so to every site there.
COOKIE_MARK = hashlib.sha256(f"cookies {SECRET_KEY}".encode()).hexdigest()[:8]

# What is stored encrypted is written with the first of these, and read with any: see sealing.
ENCRYPTION_KEYS = env.list("MARKETPLACE_ENCRYPTION_KEYS", default=[])
if any(len(key) < 32 for key in ENCRYPTION_KEYS):
    raise ImproperlyConfigured(
        "A key in MARKETPLACE_ENCRYPTION_KEYS has less than 32 characters. Make each with: openssl rand -hex 32"
    )
ENCRYPTION_KEYS.append(SECRET_KEY)

MARKETPLACE_URL = env.str("MARKETPLACE_URL", default="http://localhost:8001" if DEVELOPMENT else "").rstrip("/")
_address = urlsplit(MARKETPLACE_URL)
if not DEVELOPMENT and (_address.scheme != "https" or not _address.hostname):
    raise ImproperlyConfigured("Set MARKETPLACE_URL to the marketplace's public address, starting with https://.")
ALLOWED_HOSTS = env.list(
    "MARKETPLACE_ALLOWED_HOSTS",
    default=["localhost", "127.0.0.1", "[::1]"] if DEVELOPMENT else [_address.hostname or ""],
)
CSRF_TRUSTED_ORIGINS = [f"{_address.scheme}://{_address.netloc}"] if _address.netloc else []

OPEN_REGISTRATION = env.bool("MARKETPLACE_OPEN_REGISTRATION", default=False)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "rollout",
    "template_partials",
    "ui",
    "marketplace",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "marketplace.error_pages.MethodNotAllowedPage",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "marketplace.languages.WorkersLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "marketplace.typed.TypedIsKept",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
METRICS_TOKEN = env.str("MARKETPLACE_METRICS_TOKEN", default="")
if METRICS_TOKEN:
    if len(METRICS_TOKEN) < 16:
        text = "MARKETPLACE_METRICS_TOKEN has less than 16 characters. Make one with: openssl rand -hex 32"
        raise ImproperlyConfigured(text)
    MIDDLEWARE.insert(0, "marketplace.metrics.Metrics")
ROOT_URLCONF = "marketplace.urls"
WSGI_APPLICATION = "marketplace.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["template_partials.templatetags.partials", "ui.templatetags.typed"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "marketplace.pages.shared_context",
            ],
        },
    }
]

DATABASES = {"default": env.db_url("MARKETPLACE_DATABASE_URL", default=_development_database())}
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# No process waits for ever: for a connection, for a machine that is gone, and (web servers, see wsgi.py) for a
# statement, for a lock, or inside a transaction.
STATEMENT_SECONDS = float(env.str("MARKETPLACE_STATEMENT_SECONDS", default="") or 0)
DATABASES["default"]["OPTIONS"] = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
} | DATABASES["default"].get("OPTIONS", {})
# A pooler in transaction mode gives each transaction another connection: cursors must not outlive one, and limits,
# which are given to a session, are the pooler's to set.
DATABASE_POOLER = env.bool("MARKETPLACE_DATABASE_POOLER", default=False)
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = DATABASE_POOLER
if STATEMENT_SECONDS and not DATABASE_POOLER:
    _limits = {
        "statement_timeout": STATEMENT_SECONDS,
        "lock_timeout": STATEMENT_SECONDS / 3,
        "idle_in_transaction_session_timeout": STATEMENT_SECONDS * 4,
    }
    _options = [f"-c {name}={seconds * 1000:.0f}" for name, seconds in _limits.items()]
    _options.append(DATABASES["default"]["OPTIONS"].get("options", ""))  # of two values of a setting, the last counts
    DATABASES["default"]["OPTIONS"]["options"] = " ".join(_options).strip()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Limits, which all web processes count together: see services.limits
RATE_LIMITS = env.bool("MARKETPLACE_RATE_LIMITS", default=True)
API_RATE = env.int("MARKETPLACE_API_RATE", default=200)
# After how many days without a log-in or a task it is erased who a worker is to whom nothing is owed; 0 keeps them.
WORKER_DAYS = env.int("MARKETPLACE_WORKER_DAYS", default=0)
CLIENT_ADDRESS_HEADER = env.str("MARKETPLACE_CLIENT_ADDRESS_HEADER", default="REMOTE_ADDR")

# Notifications: where requesters may have them sent. In development, anywhere near.
_ports = env.list("MARKETPLACE_NOTIFICATION_PORTS", default=[])
_networks = env.list("MARKETPLACE_NOTIFICATION_NETWORKS", default=[])
if DEVELOPMENT and not _networks:
    _networks = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
try:
    NOTIFICATION_PORTS = frozenset(int(port) for port in _ports) or (None if DEVELOPMENT else frozenset({443}))
    NOTIFICATION_NETWORKS = [ipaddress.ip_network(network.strip()) for network in _networks]
except ValueError as error:
    raise ImproperlyConfigured(
        "MARKETPLACE_NOTIFICATION_PORTS takes numbers, and MARKETPLACE_NOTIFICATION_NETWORKS networks such as "
        f"10.1.0.0/16, with commas between: {error}."
    ) from error

# Files
STATIC_URL = "/static/"
STATIC_ROOT = env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles-marketplace"))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # nothing is uploaded
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEVELOPMENT
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEVELOPMENT
WHITENOISE_AUTOREFRESH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

# People
AUTH_USER_MODEL = "marketplace.Account"
LOGIN_URL = "/login"
PASSWORD_RESET_TIMEOUT = 86_400  # seconds that a link to a new password works
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
LANGUAGE_CODE = "en"
LANGUAGES = [  # of the workers' pages, which marketplace/locale has catalogues for. HITs speak any language.
    ("en", "English"),
    ("ar", "العربية"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("zh-hans", "简体中文"),
]
LANGUAGE_COOKIE_NAME = f"marketplace_language_{COOKIE_MARK}"
LANGUAGE_COOKIE_AGE = 60 * 60 * 24 * 365
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
USE_TZ = True
TIME_ZONE = "UTC"

# Security
SESSION_COOKIE_NAME = f"marketplace_session_{COOKIE_MARK}"
CSRF_COOKIE_NAME = f"marketplace_csrf_{COOKIE_MARK}"
MESSAGE_STORAGE = "marketplace.messages.Messages"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "ui.typed.refuse_token"
SECURE_REFERRER_POLICY = "same-origin"
# A question in a sandboxed frame of another origin must not lose its window to a script of ours, nor gain it.
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "frame-src": [NONE],  # a page with a requester's question in a frame names that question's origin
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
if not DEVELOPMENT:
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.bool("MARKETPLACE_HSTS_SUBDOMAINS", default=False)
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # the names below this one may be somebody else's
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True

logs.install()  # addresses carry secrets, and no log may hold one
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {"django.request": {"level": "ERROR"}},
}
