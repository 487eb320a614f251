"""The page of skills: what agents may load, whose it is, what it allows, and the switch of each."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agents.access import requires
from agents.kept import Kept
from agents.models import DisabledSkill, Role
from agents.narrowing import Allowed, allowed
from agents.skills import Switches, own, project_of
from agents.views import asked
from workspaces import skills as finding
from workspaces import sources
from workspaces.git import GitError
from workspaces.models import Repository
from workspaces.skills import Origin, Skill

REPOSITORIES_PER_PAGE = 10
TEXT_CHARS = 300_000
"""Characters of skills' texts on one page; what comes after is named only."""

_found: Kept[list[Skill]] = Kept(8_000_000, lambda found: sum(len(skill.text) + 500 for skill in found))
"""The skills of a repository at a commit: what a commit holds never changes."""


@dataclass(frozen=True)
class Row:
    """One skill on the page. `instead` is the path of the one of the same name that is used in its place."""

    skill: Skill
    allowed: Allowed
    is_on: bool
    instead: str
    shows_text: bool

    @property
    def files(self) -> tuple[str, ...]:
        return self.skill.files[:20]

    @property
    def files_left_out(self) -> int:
        return len(self.skill.files) - len(self.files)


@dataclass(frozen=True)
class Group:
    """The skills of one place. `gone` are names that are switched off and not found any more."""

    title: str
    anchor: str
    rows: list[Row]
    gone: list[str] = field(default_factory=list)
    repository: Repository | None = None
    commit: str = ""
    fault: str = ""


@requires(Role.VIEWER)
@never_cache
@require_safe
def skills(request: HttpRequest) -> HttpResponse:
    """List the application's own skills and those of the repositories, ten repositories a page."""
    ready = Repository.objects.filter(status=Repository.Status.READY).order_by("name")
    page = Paginator(ready, REPOSITORIES_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "agents/skills.html", {"groups": _groups(page), "page": page})


def _groups(page: "Page[Repository]") -> list[Group]:
    room = _Room(TEXT_CHARS)
    ours = _own(room) if page.number == 1 else []
    return [*ours, *(_of_repository(repository, room) for repository in page)]


class _Room:
    """How many characters of texts the page still takes."""

    def __init__(self, chars: int) -> None:
        self._left = chars

    def takes(self, text: str) -> bool:
        self._left -= len(text)
        return self._left >= 0


def _own(room: _Room) -> list[Group]:
    switches = Switches.of(None)
    rows = _rows(own(), switches, room)
    gone = sorted(switches.own - {row.skill.name for row in rows})
    titles = {Origin.SHIPPED: "Shipped with Sakura", Origin.INSTALLATION: "Of this installation"}
    return [
        Group(title, origin.value, [row for row in rows if row.skill.origin is origin], [] if number else gone)
        for number, (origin, title) in enumerate(titles.items())
    ]


def _of_repository(repository: Repository, room: _Room) -> Group:
    anchor = f"repository-{repository.pk}"
    try:
        commit = sources.resolve(repository, "")
        found = _found.get((repository.pk, commit), lambda: finding.of_repository(repository, commit))
    except (sources.SourceError, GitError) as error:
        return Group(repository.name, anchor, [], repository=repository, fault=f"It can't be looked at: {error}")
    switches = Switches.of(repository.pk)
    rows = _rows(found, switches, room)
    gone = sorted(switches.repository - {row.skill.name for row in rows})
    return Group(repository.name, anchor, rows, gone, repository, commit)


def _rows(found: Iterable[Skill], switches: Switches, room: _Room) -> list[Row]:
    rows: list[Row] = []
    first: dict[tuple[str, str], str] = {}
    for skill in found:
        is_on, place = switches.is_on(skill), (project_of(skill), skill.name)
        rows.append(Row(skill, allowed(skill.allowed), is_on, first.get(place, ""), room.takes(skill.text)))
        if is_on and not skill.fault:
            first.setdefault(place, skill.path)
    return rows


@requires(Role.ADMIN)
@require_POST
def skill_switch(request: HttpRequest) -> HttpResponse:
    """Switch a skill of a repository, or one of the application's own, on or off."""
    name, given = request.POST.get("name", ""), request.POST.get("repository", "")
    repository = get_object_or_404(Repository, pk=asked.whole_number(given)) if given else None
    whose = repository.name if repository else "Sakura and this installation"
    match request.POST.get("do"):
        case "off" if 0 < len(name) <= finding.NAME_CHARS:
            DisabledSkill.objects.get_or_create(
                repository=repository, name=name, defaults={"disabled_by": asked.user(request)}
            )
            messages.success(request, f"The skill “{name}” of {whose} is off: agents can't load it any more.")
        case "on":
            DisabledSkill.objects.filter(repository=repository, name=name).delete()
            messages.success(request, f"The skill “{name}” of {whose} is on: agents can load it.")
        case _:
            messages.error(request, "Nothing was changed: the form did not say what to do.")
    anchor = f"repository-{repository.pk}" if repository else "skills"
    page = asked.whole_number(request.POST.get("page", "")) or 1
    return redirect(f"{reverse('skills')}{f'?page={page}' if page > 1 else ''}#{anchor}")
