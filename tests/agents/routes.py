"""The table of all addresses: who may call which with what method, and a world of real objects behind them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver

from agents import control, events
from agents.events import Fact
from agents.models import ApiToken, Comment, Kind, LoginLink, Role, Run, Secret, Status
from tests.agents.reviewing import FIXED, scene
from tests.conftest import TASK_FORM, task_fields
from workspaces import credentials
from workspaces.models import Repository

ANYBODY, LOGGED_IN = "anybody", "logged in"
WATCH, OPERATE, REVIEW, ADMINISTER = Role.VIEWER, Role.OPERATOR, Role.REVIEWER, Role.ADMIN
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND")
OUTPUT = "output-1.txt"


@dataclass(frozen=True)
class Way:
    """One method of an address: who may use it, the status they get, what is sent, in which state the run is."""

    need: str
    status: int
    body: Any = None
    query: str = ""
    run: Status = Status.AWAITING_HUMAN
    logged_in: int | None = None
    """The status for who is logged in already, where it is another one."""


Table = dict[str, dict[str, Way]]


def look(need: str = WATCH, query: str = "", status: int = 200) -> dict[str, Way]:
    """Return an address that is read, by GET and HEAD alike."""
    return {"GET": Way(need, status, query=query), "HEAD": Way(need, status, query=query)}


def get(query: str = "") -> dict[str, Way]:
    return {"GET": Way(WATCH, 200, query=query)}


def post(need: str, status: int = 302, body: Any = None, run: Status = Status.AWAITING_HUMAN) -> dict[str, Way]:
    return {"POST": Way(need, status, body or {}, run=run)}


SECRET = "a-new-and-long-password"

SITE: Table = {
    "healthz": look(ANYBODY),
    "readyz": look(ANYBODY),
    "metrics": look(ANYBODY),
    "": look(),
    "login/": {
        "GET": Way(ANYBODY, 200, logged_in=302),
        "HEAD": Way(ANYBODY, 200, logged_in=302),
        "POST": Way(ANYBODY, 200, {"username": "nobody", "password": "wrong"}),
    },
    "login/<str:secret>/": look(ANYBODY) | {"POST": Way(ANYBODY, 302, {})},
    "logout/": post(LOGGED_IN),
    "demo/": post(OPERATE),
    "settings/": look(),
    "settings/password/": post(WATCH, body={"password": SECRET}),
    "settings/tokens/": post(WATCH, 200, {"name": "ci", "roles": "viewer", "days": "30"}),
    "settings/tokens/<int:pk>/delete/": post(WATCH),
    "settings/users/": post(ADMINISTER, 200, {"do": "add", "username": "newcomer", "roles": "admin"}),
    "settings/skills/": look(),
    "settings/skills/switch/": post(ADMINISTER, body={"do": "off", "name": "some-skill"}),
    "repositories/": look(),
    "repositories/add/": look(OPERATE)
    | post(OPERATE, body={"source": "https://git.example.org/other.git", "name": "other"}),
    "repositories/<int:pk>/": look() | post(OPERATE, body={"setup": "true", "setup_hosts": "", "verify": ""}),
    "repositories/<int:pk>/refresh/": post(OPERATE),
    "repositories/<int:pk>/cancel/": post(OPERATE),
    "repositories/<int:pk>/delete/": post(ADMINISTER),
    "repositories/<int:pk>/policy/": look()
    | post(OPERATE, 200, {"do": "try", "text": "", "seen": "", "tries": "read README.md"}),
    "repositories/<int:pk>/secrets/": post(OPERATE, body={"name": "NPM_TOKEN", "value": "tok-0123456789"}),
    "repositories/<int:pk>/secrets/<str:name>/delete/": post(OPERATE),
    "tasks/new/": look(OPERATE) | post(OPERATE, body=TASK_FORM),
    "tasks/preview/": post(OPERATE, 200, {"text": "*hello*"}),
    "tasks/<int:pk>/": look(),
    "tasks/<int:pk>/runs/": post(OPERATE),
    "runs/<int:pk>/": look(),
    "runs/<int:pk>/events/": get("after=0"),
    "runs/<int:pk>/calls/<int:seq>/": get(),
    "runs/<int:pk>/outputs/<str:ref>/": get(),
    "runs/<int:pk>/messages/": post(OPERATE, body={"text": "Look at README."}, run=Status.QUEUED),
    "runs/<int:pk>/pause/": post(OPERATE, run=Status.QUEUED),
    "runs/<int:pk>/resume/": post(OPERATE, run=Status.PAUSED),
    "runs/<int:pk>/cancel/": post(OPERATE, run=Status.QUEUED),
    "runs/<int:pk>/retry/": post(OPERATE, run=Status.FAILED),
    "runs/<int:pk>/review/": get(),
    "runs/<int:pk>/comments/": {
        "GET": Way(REVIEW, 200),
        "POST": Way(REVIEW, 302, {"path": "calc.py", "line": "1", "side": "new", "body": "Why?"}),
    },
    "runs/<int:pk>/comments/<int:comment>/delete/": post(REVIEW),
    "runs/<int:pk>/reverts/": {
        "GET": Way(REVIEW, 200, query="path=calc.py&to=0"),
        "POST": Way(REVIEW, 302, {"path": "calc.py", "to": "0"}),
    },
    "runs/<int:pk>/decide/": post(REVIEW, body={"verdict": "reject", "summary": "No."}),
    "runs/<int:pk>/push/": post(REVIEW),
    "runs/<int:pk>/patch/": get(),
    "runs/<int:pk>/workspace/": get(),
    "runs/<int:pk>/workspace/file/": get("path=calc.py"),
    "runs/<int:pk>/workspace/reads/": get(),
    "runs/<int:pk>/workspace/baselines/": get(),
    "runs/<int:pk>/workspace/sakura/": get(),
    "api/v1/docs": look(),
}

RUN = "api/v1/runs/<int:run_id>"
REMARK = {"path": "calc.py", "line": 1, "side": "new", "body": "Why?"}
EVERYTHING = {method: Way(ANYBODY, 404) for method in METHODS}
API: Table = {
    "api/v1/": EVERYTHING,
    "api/v1/^": EVERYTHING,
    "api/v1/openapi.json": look(),
    "api/v1/repositories": get() | post(OPERATE, 201, {"name": "other", "source": "https://git.example.org/other.git"}),
    "api/v1/repositories/<int:repository_id>": get() | {"DELETE": Way(ADMINISTER, 409)},
    "api/v1/repositories/<int:repository_id>/refresh": post(OPERATE, 200),
    "api/v1/repositories/<int:repository_id>/policy": get(),
    "api/v1/repositories/<int:repository_id>/policy/tries": post(OPERATE, 200, {"text": "verify = []"}),
    "api/v1/repositories/<int:repository_id>/policy/proposals": post(OPERATE, 201, {"text": "verify = []"}),
    "api/v1/repositories/<int:repository_id>/secrets": get(),
    "api/v1/repositories/<int:repository_id>/secrets/<name>": {
        "PUT": Way(OPERATE, 200, {"value": "tok-0123456789"}),
        "DELETE": Way(OPERATE, 204),
    },
    "api/v1/tasks": get()
    | post(OPERATE, 201, {"repository": "calc", "title": "Mend", "prompt": "Mend it.", "script": {"implementer": []}}),
    "api/v1/tasks/<int:task_id>": get(),
    "api/v1/tasks/<int:task_id>/runs": post(OPERATE, 201),
    RUN: get(),
    f"{RUN}/events": get(),
    f"{RUN}/outputs/<ref>": get(),
    f"{RUN}/messages": post(OPERATE, 201, {"text": "Look at README."}, Status.QUEUED),
    f"{RUN}/pause": post(OPERATE, 200, run=Status.QUEUED),
    f"{RUN}/resume": post(OPERATE, 200, run=Status.PAUSED),
    f"{RUN}/cancel": post(OPERATE, 200, run=Status.QUEUED),
    f"{RUN}/retry": post(OPERATE, 200, run=Status.FAILED),
    f"{RUN}/changes": get(),
    f"{RUN}/diff": get("path=calc.py"),
    f"{RUN}/patch": get(),
    f"{RUN}/snapshots": get(),
    f"{RUN}/tree": get(),
    f"{RUN}/file": get("path=calc.py"),
    f"{RUN}/reads": get(),
    f"{RUN}/baselines": get(),
    f"{RUN}/sakura": get("path=SAKURA.md"),
    f"{RUN}/reverts": post(REVIEW, 200, {"path": "calc.py", "to": 0, "dry_run": True}),
    f"{RUN}/reviews": post(REVIEW, 201, {"verdict": "reject", "summary": "No.", "comments": [REMARK]}),
    f"{RUN}/comments": post(REVIEW, 201, REMARK),
    f"{RUN}/push": post(REVIEW, 409),
}
SOCKETS = {"ws/runs/<int:pk>/": WATCH, "ws/board/": WATCH, "": "nobody"}


def is_page(route: str) -> bool:
    return route in SITE and not route.startswith(("healthz", "readyz", "metrics"))


def routes(patterns: list[Any] | None = None, prefix: str = "") -> Iterator[str]:
    """Yield every address that the resolver knows, as the table writes it."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        match pattern:
            case URLResolver():
                yield from routes(pattern.url_patterns, route)
            case URLPattern():
                yield route


@dataclass
class World:
    """What the addresses are about: a repository and runs in every state, with all that hangs on them."""

    repository: Repository
    user: User
    runs: dict[Status, Run] = field(default_factory=dict)
    call_seq: int = 0
    comment: int = 0
    token: int = 0

    @classmethod
    def make(cls, repository: Repository, user: User) -> "World":
        """Build the world; the comment in it and the token are the user's."""
        found = cls(repository, user)
        done = scene(repository)
        done.call("edit_file", files={"calc.py": FIXED, ".sakura/SAKURA.md": "# How we work\n"}, say="The sign.")
        run = done.run
        found.runs[Status.AWAITING_HUMAN] = run
        call = {"call_id": "call-1", "tool": "edit_file", "input": {"file_path": "calc.py"}, "resolved": {}}
        (event,) = events.append(run.pk, Fact(Kind.TOOL_CALL, call, agent="implementer", step=1, call_id="call-1"))
        run.place.outputs.mkdir(parents=True, exist_ok=True)
        (run.place.outputs / OUTPUT).write_text("a long output\n")
        found.call_seq = event.seq
        found.comment = Comment.objects.create(run=run, user=user, path="calc.py", line=1, body="A remark.").pk
        found.token = ApiToken.make(user, "mine")[0].pk
        sealed = credentials.seal("tok-9876543210", credentials.SECRET)
        Secret.objects.create(repository=repository, name="NPM_TOKEN", sealed=sealed)
        for status in (Status.QUEUED, Status.PAUSED, Status.FAILED):
            other = control.launch(None, **task_fields(repository))
            Run.objects.filter(pk=other.pk).update(status=status)
            found.runs[status] = other
        return found

    def body(self, route: str, way: Way) -> Any:
        """Return what is sent, with the repository's id where a form names it."""
        return way.body | {"repository": self.repository.pk} if route == "tasks/new/" else way.body

    def address(self, route: str, way: Way) -> str:
        """Return the address with the ids of real objects in it."""
        run = self.runs[way.run]
        pk = {"repositories/": self.repository.pk, "tasks/": run.task_id, "settings/": self.token}
        values = {
            "<int:pk>": next((number for start, number in pk.items() if route.startswith(start)), run.pk),
            "<int:run_id>": run.pk,
            "<int:task_id>": run.task_id,
            "<int:repository_id>": self.repository.pk,
            "<int:seq>": self.call_seq,
            "<int:comment>": self.comment,
            "<str:name>": "NPM_TOKEN",
            "<name>": "NPM_TOKEN",
            "<str:ref>": OUTPUT,
            "<ref>": OUTPUT,
            "^": "unknown",
        }
        for placeholder, value in values.items():
            route = route.replace(placeholder, str(value))
        if "<str:secret>" in route:
            route = route.replace("<str:secret>", LoginLink.make(self.user))
        return f"/{route}?{way.query}".rstrip("?")
