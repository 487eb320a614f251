"""The page of skills: what it tells of each, and who may switch one on and off."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from agents.models import DisabledSkill
from agents.skills import AgentSkills
from tests.agents.views.pages import Element, Page
from tests.workspaces.test_skills import commit, text
from workspaces import sources
from workspaces.models import Repository

pytestmark = pytest.mark.django_db

SKILLS = {
    ".sakura/skills/look/SKILL.md": text(
        "look", "How to <b>look</b>.", "# Look\n\n<script>alert(1)</script>\n", "allowed-tools: Read, Bash(git *)\n"
    ),
    ".sakura/skills/look/more.md": "More.\n",
    ".claude/skills/look.md": text("look", "The other one."),
    ".claude/skills/odd.md": text("odd", more="allowed-tools: WebFetch\n"),
    ".claude/skills/broken.md": "no front matter",
    "web/.claude/skills/pages.md": text("pages"),
}


@pytest.fixture
def skilled(repository: Repository, source: Path) -> Repository:
    commit(source, SKILLS)
    sources.refresh(repository)
    return repository


@pytest.fixture
def admin(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


def shown(client: Client, query: str = "") -> Page:
    answer = client.get(f"{reverse('skills')}{query}")
    assert answer.status_code == 200
    return Page(answer.content)


def group(page: Page, repository: Repository) -> Element:
    return page.one("section", id=f"repository-{repository.pk}")


def row(page: Page, path: str) -> Element:
    """Return the row of the skill that lies in this file."""
    (found,) = [each for each in page.find("li", class_="skill") if f"File {path} " in each.words]
    return found


def switch(client: Client, name: str, do: str, repository: Repository | None = None) -> int:
    fields = {"name": name, "do": do, "repository": str(repository.pk) if repository else ""}
    return client.post(reverse("skill_switch"), fields, headers={"accept": "text/html"}).status_code


def test_a_skill_is_shown_with_origin_tools_and_text(admin: Client, skilled: Repository) -> None:
    page = shown(admin)
    assert f"main at {sources.resolve(skilled, 'main')[:10]}" in group(page, skilled).words
    words = row(page, ".sakura/skills/look/SKILL.md").words
    for part in ("How to <b>look</b>.", "read_file", "Commands git *", "Beside it more.md", "On", "Switch off"):
        assert part in words
    assert "<script>alert(1)</script>" in words
    assert not [each for each in page.find("script") if "alert" in each.text]


def test_what_comes_with_sakura_and_the_installations_own_are_there(admin: Client, settings: Settings) -> None:
    folder = Path(settings.SAKURA_DATA_DIR) / "skills"
    folder.mkdir()
    (folder / "house.md").write_text(text("house", "Of the house."))
    (folder / "write-tests.md").write_text(text("write-tests", "Ours."))
    page = shown(admin)
    assert "Of the house." in page.one("section", id="installation").words
    assert "review-diff" in page.one("section", id="shipped").words
    assert "write-tests.md has the same name and is used instead" in row(page, "write-tests/SKILL.md").words


def test_a_skill_that_narrows_nothing_says_so(admin: Client, skilled: Repository) -> None:
    words = row(shown(admin), ".claude/skills/odd.md").words
    assert "It names no tool that Sakura knows, so it narrows nothing. No tool here goes by WebFetch." in words


def test_a_broken_skill_is_shown_with_the_reason_and_no_switch(admin: Client, skilled: Repository) -> None:
    words = row(shown(admin), ".claude/skills/broken.md").words
    assert "Broken" in words
    assert "It has no front matter" in words
    assert "Switch" not in words


def test_a_skill_hidden_by_a_nearer_one_names_it(admin: Client, skilled: Repository) -> None:
    words = row(shown(admin), ".claude/skills/look.md").words
    assert ".sakura/skills/look/SKILL.md has the same name and is used instead." in words


def test_the_skills_of_sub_projects_are_shown(admin: Client, skilled: Repository) -> None:
    assert row(shown(admin), "web/.claude/skills/pages.md")


def test_an_admin_switches_a_skill_off_and_on(admin: Client, skilled: Repository, owner: User) -> None:
    assert switch(admin, "odd", "off", skilled) == 302
    assert "Off Switch on" in row(shown(admin), ".claude/skills/odd.md").words
    assert DisabledSkill.objects.get().disabled_by == owner
    assert switch(admin, "odd", "off", skilled) == 302
    assert switch(admin, "odd", "on", skilled) == 302
    assert not DisabledSkill.objects.exists()


def test_the_switch_of_one_of_our_own_holds_for_the_agents(admin: Client) -> None:
    switch(admin, "write-tests", "off")
    switch(admin, "write-tests", "off")
    assert DisabledSkill.objects.count() == 1
    assert "write-tests" not in AgentSkills().offered()


def test_the_switch_of_a_repository_leaves_others_alone(admin: Client, skilled: Repository) -> None:
    switch(admin, "write-tests", "off", skilled)
    assert "write-tests" in AgentSkills().offered()


def test_what_is_off_and_not_found_any_more_can_be_forgotten(admin: Client, skilled: Repository) -> None:
    DisabledSkill.objects.create(repository=skilled, name="gone")
    assert "Switched off, and not found any more: gone" in group(shown(admin), skilled).words
    switch(admin, "gone", "on", skilled)
    assert "not found any more" not in group(shown(admin), skilled).words


@pytest.mark.parametrize("fields", [{}, {"do": "off"}, {"do": "off", "name": "x" * 65}, {"do": "dance", "name": "odd"}])
def test_a_senseless_post_changes_nothing(admin: Client, fields: dict[str, str]) -> None:
    assert admin.post(reverse("skill_switch"), fields).status_code == 302
    assert not DisabledSkill.objects.exists()


def test_an_unknown_repository_is_not_found(admin: Client) -> None:
    for pk in ("987", "x", "9" * 30):
        assert admin.post(reverse("skill_switch"), {"do": "off", "name": "a", "repository": pk}).status_code == 404


def test_who_is_no_admin_looks_and_switches_nothing(client: Client, teammate: User, skilled: Repository) -> None:
    client.force_login(teammate)
    assert "Switch off" not in group(shown(client), skilled).words
    assert switch(client, "odd", "off", skilled) == 403
    assert not DisabledSkill.objects.exists()


def test_a_stranger_sees_nothing(client: Client, stranger: User) -> None:
    client.force_login(stranger)
    assert client.get(reverse("skills"), headers={"accept": "text/html"}).status_code == 403


def test_settings_lead_to_the_page_and_stay_the_section(admin: Client) -> None:
    settings = Page(admin.get(reverse("settings")).content)
    assert settings.one("section", id="skills")
    assert [each for each in settings.find("a") if each.attrs["href"] == reverse("skills")]
    assert "Settings" in [each.words for each in shown(admin).find("a") if each.attrs.get("aria-current") == "true"]


def test_a_repository_that_can_not_be_read_says_so(admin: Client, repository: Repository) -> None:
    Repository.objects.filter(pk=repository.pk).update(default_branch="gone")
    assert "can't be looked at" in group(shown(admin), repository).words


def test_ten_repositories_fill_a_page_and_ours_stand_on_the_first(admin: Client) -> None:
    for number in range(12):
        Repository.objects.create(name=f"r{number:02}", source="/x", status=Repository.Status.READY)
    first, second = shown(admin), shown(admin, "?page=2")
    assert (len(first.find("section", class_="skillset")), len(second.find("section", class_="skillset"))) == (12, 2)


def test_the_texts_of_a_page_are_bounded(admin: Client, settings: Settings) -> None:
    folder = Path(settings.SAKURA_DATA_DIR) / "skills"
    folder.mkdir()
    for number in range(10):
        (folder / f"s{number}.md").write_text(text(body="A line.\n" * 6000))
    page = shown(admin)
    assert len(page.find("details", class_="fold")) < 10
    assert "Its text is not shown here" in page.one("section", id="installation").words


def test_the_queries_do_not_grow_with_the_skills(
    admin: Client, skilled: Repository, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(9):
        shown(admin)
