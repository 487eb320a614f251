"""All settings; the only place that reads the environment. A bad value is a loud ImproperlyConfigured."""

import secrets
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from sakura_web import env

BASE_DIR = Path(__file__).resolve().parent.parent

# --- where things live -------------------------------------------------------------------------

SAKURA_ENV = env.choice("SAKURA_ENV", "development", ("development", "production"))
PRODUCTION = SAKURA_ENV == "production"
SAKURA_DATA_DIR = env.folder("SAKURA_DATA_DIR", BASE_DIR / "var")
SAKURA_RUNS_DIR = env.folder("AGENT_TEAM_WORKSPACE_ROOT", SAKURA_DATA_DIR / "runs")
SAKURA_HOST = env.text("SAKURA_HOST", "127.0.0.1")
SAKURA_PORT = env.number("SAKURA_PORT", 8000, 0, 65535)
SAKURA_BASE_URL = env.text("SAKURA_BASE_URL").rstrip("/")


def _secret_key() -> str:
    """Return SAKURA_SECRET_KEY, or the one made and kept (mode 600) at the first start."""
    given = env.text("SAKURA_SECRET_KEY")
    if given:
        if len(given) < 50:
            raise ImproperlyConfigured("SAKURA_SECRET_KEY must have 50 characters or more.")
        return given
    path = SAKURA_DATA_DIR / "secret_key"
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    SAKURA_DATA_DIR.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"secret_key.{secrets.token_hex(4)}")
    temporary.touch(mode=0o600, exist_ok=False)
    temporary.write_text(secrets.token_urlsafe(64), encoding="ascii")
    with suppress(FileExistsError):  # another process was first: its key stays
        path.hardlink_to(temporary)
    temporary.unlink()
    return path.read_text(encoding="ascii")


try:
    SECRET_KEY = _secret_key()
except OSError as error:
    raise ImproperlyConfigured(
        f"SAKURA_DATA_DIR={SAKURA_DATA_DIR} can't be used: {error.strerror}. "
        "Name a folder that this user may write, for example SAKURA_DATA_DIR=/var/lib/sakura."
    ) from error

# --- what Sakura does ----------------------------------------------------------------------------

SAKURA_CONCURRENCY = env.number("SAKURA_CONCURRENCY", 4, 1, 64)
SAKURA_SANDBOX = env.choice("SAKURA_SANDBOX", "full", ("full", "off"))
SAKURA_SANDBOX_OFF_CONFIRMED = env.flag("SAKURA_I_KNOW_COMMANDS_RUN_UNCONFINED")
SAKURA_BWRAP = env.text("SAKURA_BWRAP")
SAKURA_TOOLCHAINS = env.paths("SAKURA_TOOLCHAINS")
SAKURA_REPOSITORY_ROOTS = env.paths("SAKURA_REPOSITORY_ROOTS")
SAKURA_MODELS = env.text("SAKURA_MODELS")
SAKURA_COMMAND_BLOCKLIST = env.words("AGENT_TEAM_TEST_COMMAND_BLOCKLIST")
# Caps of tool results (agents/tools/base.py: Limits), by their names in small letters.
SAKURA_LIMITS = env.numbers("SAKURA_LIMIT_")
# What one command may use (workspaces/sandbox/place.py: Limits), and what must stay free of disk and memory.
SAKURA_SANDBOX_PROCESSES = env.number("SAKURA_SANDBOX_PROCESSES", 256, 16, 100_000)
SAKURA_SANDBOX_OPEN_FILES = env.number("SAKURA_SANDBOX_OPEN_FILES", 1024, 64, 1_000_000)
SAKURA_SANDBOX_CPU_S = env.number("SAKURA_SANDBOX_CPU_S", 600, 1, 1_000_000)
SAKURA_SANDBOX_MEMORY_MB = env.number("SAKURA_SANDBOX_MEMORY_MB", 4096, 64, 2**24)
SAKURA_SANDBOX_FILE_MB = env.number("SAKURA_SANDBOX_FILE_MB", 1024, 1, 2**24)
SAKURA_SANDBOX_TMP_MB = env.number("SAKURA_SANDBOX_TMP_MB", 512, 1, 2**24)
SAKURA_SANDBOX_SHM_MB = env.number("SAKURA_SANDBOX_SHM_MB", 64, 1, 2**24)
SAKURA_SANDBOX_CPUS = env.number("SAKURA_SANDBOX_CPUS", 0, 0, 10_000)
# Seconds that one verify command of a proof may take.
SAKURA_PROOF_TIMEOUT_S = env.number("SAKURA_PROOF_TIMEOUT_S", 1800, 1, 86_400)
SAKURA_DISK_FLOOR_MB = env.number("SAKURA_DISK_FLOOR_MB", 200, 0, 2**24)
SAKURA_MEMORY_FLOOR_MB = env.number("SAKURA_MEMORY_FLOOR_MB", 200, 0, 2**24)
SAKURA_CGROUP = env.text("SAKURA_CGROUP")
ANTHROPIC_API_KEY = env.text("ANTHROPIC_API_KEY")
ANTHROPIC_BASE_URL = env.text("ANTHROPIC_BASE_URL")
OPENAI_API_KEY = env.text("OPENAI_API_KEY")
OPENAI_BASE_URL = env.text("OPENAI_BASE_URL")
# A model of SAKURA_MODELS may name another variable for its key; it is read through this.
SAKURA_READ_SECRET = env.text

if SAKURA_SANDBOX == "off" and not SAKURA_SANDBOX_OFF_CONFIRMED:
    raise ImproperlyConfigured(
        "SAKURA_SANDBOX=off lets every command act with the rights of this server. "
        "If that is what you want, set SAKURA_I_KNOW_COMMANDS_RUN_UNCONFINED=1 as well."
    )
if PRODUCTION and SAKURA_SANDBOX == "off":
    raise ImproperlyConfigured("SAKURA_SANDBOX=off is refused with SAKURA_ENV=production.")

# --- Django --------------------------------------------------------------------------------------

DEBUG = env.flag("SAKURA_DEBUG")
if PRODUCTION and DEBUG:
    raise ImproperlyConfigured("SAKURA_DEBUG is refused with SAKURA_ENV=production.")
if PRODUCTION and not SAKURA_BASE_URL:
    raise ImproperlyConfigured("SAKURA_ENV=production needs SAKURA_BASE_URL, for example https://sakura.example.org.")

_base = urlsplit(SAKURA_BASE_URL)
if SAKURA_BASE_URL and (_base.scheme not in ("http", "https") or not _base.hostname or _base.path):
    raise ImproperlyConfigured(
        f"SAKURA_BASE_URL={SAKURA_BASE_URL!r} must be scheme and host, as in https://sakura.example.org."
    )
HTTPS = _base.scheme == "https"

ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *([_base.hostname] if _base.hostname else [])]
if SAKURA_HOST not in ("0.0.0.0", "::", *ALLOWED_HOSTS):  # noqa: S104 -- compared, not bound
    ALLOWED_HOSTS.append(SAKURA_HOST)
CSRF_TRUSTED_ORIGINS = [SAKURA_BASE_URL] if SAKURA_BASE_URL else []

INSTALLED_APPS = [
    "agents",  # before channels: it owns the command runworker
    "workspaces",
    "sakura_web",
    "daphne",
    "channels",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "axes",
    "csp",
    "ninja",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",  # before all that may answer by itself
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "agents.masked_answers.mask_answers",
    "agents.access.NothingKeptMiddleware",  # after WhiteNoise, whose files may be kept
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "agents.access.RoleRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "sakura_web.urls"
ASGI_APPLICATION = "sakura_web.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "agents.context.chrome",
            ],
            "libraries": {"sakura": "agents.templatetags.sakura"},
            "builtins": ["agents.templatetags.sakura"],
            **(
                {}
                if DEBUG
                else {
                    "loaders": [
                        ("django.template.loaders.cached.Loader", ["django.template.loaders.filesystem.Loader"])
                    ]
                }
            ),
        },
    }
]

# --- database, layer -----------------------------------------------------------------------------

DATABASE_URL = env.text("DATABASE_URL")
REDIS_URL = env.text("REDIS_URL")
SCALED = bool(REDIS_URL)

_SQLITE: dict[str, Any] = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": SAKURA_DATA_DIR / "sakura.sqlite3",
    "CONN_MAX_AGE": None,  # a new connection for each append is 30 times slower
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA temp_store=MEMORY;"
            "PRAGMA journal_size_limit=67108864"
        ),
    },
    # Threads share no in-memory database; a file they do.
    "TEST": {"NAME": SAKURA_DATA_DIR / "test.sqlite3"},
}


def _database() -> dict[str, Any]:
    if not DATABASE_URL:
        return _SQLITE
    try:
        parsed: dict[str, Any] = dict(dj_database_url.parse(DATABASE_URL))
    except (ValueError, KeyError) as error:
        raise ImproperlyConfigured(f"DATABASE_URL can't be read: {error}.") from error
    if parsed["ENGINE"].endswith("sqlite3"):
        return {**_SQLITE, "NAME": parsed["NAME"]}
    if not parsed["ENGINE"].endswith("postgresql"):
        raise ImproperlyConfigured("DATABASE_URL must name PostgreSQL or SQLite.")
    parsed["CONN_MAX_AGE"] = 0
    parsed["CONN_HEALTH_CHECKS"] = True  # a pool must not hand out what a restart of PostgreSQL broke
    # A worker's run threads keep one each; 8 readers, 2 mirrors and the threads that claim, renew and stream
    # share the rest.
    pool = {"min_size": 1, "max_size": SAKURA_CONCURRENCY + 16, "timeout": 10}
    parsed["OPTIONS"] = {**parsed.get("OPTIONS", {}), "pool": pool}
    return parsed


DATABASES = {"default": _database()}
SQLITE = DATABASES["default"]["ENGINE"].endswith("sqlite3")
if PRODUCTION and SCALED and SQLITE:
    raise ImproperlyConfigured(
        "Several processes need PostgreSQL: set DATABASE_URL, or leave REDIS_URL out to run one process."
    )

CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {
        # The publish/subscribe layer has no capacity to overflow; messages are only doorbells.
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # Its channels are the same in all databases of a Redis, so the key tells installations apart.
        "CONFIG": {"hosts": [REDIS_URL], "prefix": f"sakura-{sha256(SECRET_KEY.encode()).hexdigest()[:12]}-"},
    }
    if SCALED
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}

# --- users, sessions, security -------------------------------------------------------------------

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# Ten wrong passwords lock an account for the address they came from; agents/throttle.py says how it is counted.
AXES_HANDLER = "agents.throttle.CountsFirst"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=10)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "agents.views.accounts.locked"
AXES_USERNAME_CALLABLE = "agents.throttle.account"
AXES_CLIENT_IP_CALLABLE = "agents.throttle.address"
AXES_SENSITIVE_PARAMETERS = ["username", "password", "csrfmiddlewaretoken", "next"]
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "board"
LOGOUT_REDIRECT_URL = "login"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = False  # scripts send it back as a header
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["sakura"],  # static/js/page.js: the one place where text becomes HTML
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000

# --- language, time, files, logs -----------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = SAKURA_DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "filters": {"mask_secrets": {"()": "workspaces.logs.MaskSecrets"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["mask_secrets"]}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django.channels.server": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
        "axes": {"level": "ERROR"},  # it would call each attempt a failure, as they are counted before they are made
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # anybody can send one; the answer says why
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
    },
}
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
