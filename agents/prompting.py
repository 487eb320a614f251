"""What an agent is told before it starts: the system prompt, from prompts/*.md and the repository at the baseline."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

from agents import masks, policies, policy, proof_words
from agents.models import Agent, Proof, Run
from agents.policies import Applied
from workspaces import globs, snapshots
from workspaces.models import Workspace

FOLDER = Path(__file__).parent / "prompts"
GUIDE_BYTES = 12_000
"""Bytes of each guide file of the repository; a longer one is cut and says so."""
NAMED_FILES = 200
"""Changed files that a reviewer is told by name."""
RULES_CHARS = 4000
"""Characters of rules, and of protected paths, that an agent is told."""
KEEPS_TESTS = (
    "Tests that exist at the base, and the options of test tools, are protected too: a write is refused, and what a "
    "command changes there is put back at once. New tests go into files of their own. If an existing test is wrong, "
    "say why in your summary; people decide on it."
)
CHANGES_TESTS = "You may change existing tests where the task needs it; every change of one is shown to people."
GUIDES = ("AGENTS.md", "CLAUDE.md", ".sakura/SAKURA.md", ".sakura/memory.md")


def system_prompt(run: Run, agent: Agent, tools: list[str], skills: str, secrets: str, *, commands_work: bool) -> str:
    """Return the agent's system prompt: role, tools and rules, commands, the repository's own guides, skills.

    `tools` are names; `skills` is the list of those that can be loaded, "" where there are none; `secrets` says which
    commands get which, "" for none.
    """
    task, repository = run.task, run.task.repository
    limits, applied = task.limits(), policies.of(run)
    hidden = policy.hidden_globs(applied)
    parts = [
        (FOLDER / f"{agent}.md").read_text(encoding="utf-8"),
        Template((FOLDER / "ground.md").read_text(encoding="utf-8")).substitute(
            tools=", ".join(tools),
            network=", ".join(applied.policy.network) or "none at all",
            secrets=secrets or "none",
            protected=_listed(applied.policy.protected) or "none beyond the defaults",
            tests=CHANGES_TESTS if applied.policy.may_change_tests else KEEPS_TESTS,
            rules=_rules(applied),
            hidden=_hidden(hidden),
            setup=_lines(repository.setup),
            verify=_lines(applied.verify),
            commands="" if commands_work else "Commands can't run on this machine now; work with the file tools.",
            steps=limits.steps - run.step,
            rounds=task.max_rounds,
            round=run.round,
        ),
        *guides(run.place, hidden),
        Template((FOLDER / "skills.md").read_text(encoding="utf-8")).substitute(skills=skills) if skills else "",
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _lines(commands: list[str]) -> str:
    return "\n".join(f"    {command}" for command in commands) or "    (none are named)"


def _listed(patterns: Sequence[str]) -> str:
    """Return globs in a line, as many as an agent is to read."""
    kept = list(_as_fits(patterns, RULES_CHARS))
    more = len(patterns) - len(kept)
    return ", ".join([*kept, *([f"and {more} more"] if more else [])])


def _rules(applied: Applied) -> str:
    """Return the ordered rules as lines under a heading, "" where there are none."""
    if not applied.rules:
        return ""
    lines = [line for line, _ in applied.rules]
    kept = list(_as_fits(lines, RULES_CHARS))
    more = len(lines) - len(kept)
    left_out = f"\n    (and {more} more; a refusal names the rule)" if more else ""
    head = "Rules of this task and repository; the first that fits a call decides, before the defaults:"
    return f"{head}\n{_lines(kept)}{left_out}\n"


def _hidden(patterns: Sequence[str]) -> str:
    """Return what an agent is told of hidden paths, "" where there are none."""
    if not patterns:
        return ""
    return f"Hidden from you and from commands: {_listed(patterns)}. So git has one commit, the base without these.\n"


def _as_fits(texts: Iterable[str], chars: int) -> Iterator[str]:
    """Yield texts as long as all of them together have at most so many characters."""
    for text in texts:
        chars -= len(text) + 2
        if chars < 0:
            return
        yield text


def guides(workspace: Workspace, hidden: tuple[str, ...] = ()) -> list[str]:
    """Return the guide files that the repository holds at the baseline, each under a heading and capped.

    What a glob of `hidden` fits is left out.
    """
    found = []
    for name in GUIDES:
        if any(globs.matches(pattern, name) for pattern in hidden):
            continue
        try:
            blob = snapshots.read(workspace, name, 0, limit_bytes=GUIDE_BYTES)
        except FileNotFoundError:
            continue
        text = blob.data.decode(errors="replace")
        cut = f"\n(… cut at {GUIDE_BYTES:,} bytes; read {name} for the rest)" if blob.truncated else ""
        found.append(f"# From the repository: {name}\n\n{text}{cut}")
    return found


def review_request(run: Run, claim: dict[str, Any] | None, proof: Proof | None = None) -> str:
    """Return the words that open a reviewer's conversation: the task, the claim, what changed, what is proven."""
    changed = snapshots.changes(run.place)
    files = [
        f"- {each.status} {each.path} (+{each.additions} −{each.deletions})" for each in changed.files[:NAMED_FILES]
    ]
    left_out = changed.file_count - NAMED_FILES
    more = [f"… and {left_out:,} more files"] if left_out > 0 else []
    said = str((claim or {}).get("summary", "")).strip() or "(nothing)"
    text = "\n".join(
        [
            "Review the changes of this round against the task.",
            f"# The task\n\n{run.task.title}\n\n{run.task.prompt}",
            f"# What the implementer says\n\n{said}",
            "# Changed files, against the baseline\n",
            *(files or ["(no file changed)"]),
            *more,
            "",
            proof_words.for_reviewer(proof),
            "\nUse check_changes with mode full for the diff. End with submit_review.",
        ]
    )
    return masks.of_run(run.pk).text(text)[0]
