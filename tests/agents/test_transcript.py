"""What a page shows of a transcript, and that patches bring any older page to the same place."""

from html.parser import HTMLParser

import pytest

from agents import events, transcript
from agents.cards import slug
from agents.models import Event, Kind, Run
from tests.agents.transcripts import Writer, make_run, told_run

pytestmark = pytest.mark.django_db

CUTS = range(72)


def nodes_of(page: transcript.Page) -> list[str]:
    return [patch["html"] for patch in page.patches]


class Document(HTMLParser):
    """The ids of an HTML text with the span of their elements, enough to apply patches by id."""

    VOID = {"input", "br", "hr", "meta", "use", "rect", "line", "path"}

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self.html, self.starts = html, [0]
        self.stack: list[tuple[str, str | None, int, int]] = []
        self.inner: dict[str, tuple[int, int]] = {}
        self.outer: dict[str, tuple[int, int]] = {}
        for line in html.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.feed(html)

    def here(self) -> int:
        line, column = self.getpos()
        return self.starts[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            start = self.here()
            self.stack.append((tag, dict(attrs).get("id"), start, start + len(self.get_starttag_text() or "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        opened, name, start, inner = self.stack.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"
        if name:
            assert name not in self.outer, f"two elements have the id {name}"
            self.inner[name] = (inner, self.here())
            self.outer[name] = (start, self.here() + len(f"</{tag}>"))


def apply(html: str, patch: transcript.Patch) -> str:
    """Do to the HTML of a log what the script does to the page."""
    document = Document(html)
    if patch["op"] == "replace":
        if patch["target"] not in document.outer:
            return html
        start, end = document.outer[patch["target"]]
        return html[:start] + patch["html"] + html[end:]
    if patch["target"] not in document.inner:
        return html
    end = document.inner[patch["target"]][1]
    return html[:end] + patch["html"] + html[end:]


def log_of(page: transcript.Page) -> str:
    return f'<ol id="log">{"".join(nodes_of(page))}</ol>'


@pytest.fixture
def run() -> Run:
    return told_run()


def at(run: Run, seq: int) -> Run:
    """The run as it was when `seq` was its last event."""
    past = Run.objects.get(pk=run.pk)
    past.last_seq = seq
    return past


def test_the_cuts_cover_the_whole_transcript(run: Run) -> None:
    assert run.last_seq in CUTS
    assert set(Event.objects.filter(run=run).values_list("kind", flat=True)) == set(Kind.values)


@pytest.mark.parametrize("cut", CUTS)
def test_a_page_of_any_age_and_the_patches_since_equal_a_fresh_page(run: Run, cut: int) -> None:
    html = log_of(transcript.latest(at(run, min(cut, run.last_seq))))
    for patch in transcript.patches(run, events.after(run.pk, cut)):
        html = apply(html, patch)
    assert html == log_of(transcript.latest(run))


@pytest.mark.parametrize("size", [1, 3, 7])
def test_it_does_not_matter_how_the_patches_are_batched(run: Run, size: int) -> None:
    html, cursor = log_of(transcript.latest(at(run, 0))), 0
    while rows := events.after(run.pk, cursor, size):
        for patch in transcript.patches(run, rows):
            html = apply(html, patch)
        cursor = rows[-1].seq
    assert html == log_of(transcript.latest(run))


def test_a_patch_that_comes_twice_replaces_itself_only_if_it_is_a_card(run: Run) -> None:
    html = log_of(transcript.latest(run))
    result = next(patch for patch in transcript.patches(run, events.after(run.pk, 0)) if patch["op"] == "replace")
    assert apply(html, result) == html


def test_older_pages_join_without_gap_or_overlap(run: Run) -> None:
    whole, joined, page = nodes_of(transcript.latest(run, 1000)), [], transcript.latest(run, 7)
    joined = nodes_of(page)
    while page.more:
        page = transcript.before(run, page.first, 7)
        joined = nodes_of(page) + joined
    assert joined == whole


def test_an_older_page_shows_results_that_came_after_it(run: Run) -> None:
    call = Event.objects.get(run=run, kind=Kind.TOOL_CALL, call_id="toolu_01")
    (node,) = nodes_of(transcript.before(run, call.seq + 1, 1))
    assert "84 lines" in node


def test_the_output_of_one_long_command_does_not_push_the_rest_off_the_page() -> None:
    run = make_run()
    writer = Writer(run)
    writer.say("Look.")
    writer.call("c1", "run_command", {"command": "yes"}, "EXECUTE")
    for number in range(300):
        writer.output("c1", f"y{number}\n", number)
    run.refresh_from_db()
    step, card = nodes_of(transcript.latest(run))
    assert "Look." in step
    assert card.count("<span id=") == transcript.PIECES
    assert "y299" in card
    assert "y99\n" not in card


def test_a_page_takes_the_same_three_queries_for_few_events_and_for_many(
    run: Run, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    with django_assert_num_queries(3):  # type: ignore[operator]
        transcript.latest(run, 5)
    with django_assert_num_queries(3):  # type: ignore[operator]
        transcript.latest(run, 100)


def test_what_a_model_or_tool_wrote_is_never_html(run: Run) -> None:
    writer = Writer(run)
    writer.step, evil = 50, "<img src=x onerror=alert(1)>"
    writer.say(evil)
    writer.call(evil, evil, {evil: evil}, evil)
    writer.output(evil, evil)
    writer.result(evil, evil, evil, {"path": evil, "matches": [{"path": evil, "text": evil}]}, code=evil, is_error=True)
    writer.call("c2", "edit_file", {"file_path": evil}, "WRITE")
    writer.result("c2", "edit_file", evil, {"path": evil, "diff": [["+", 1, 1, evil]], "entries": [{"name": evil}]})
    keys = ("text", "author", "by", "summary", "message", "detail", "code", "body", "path", "verdict", "verb")
    finding = {"file": evil, "line": evil, "message": evil, "severity": evil, "suggestion": evil}
    for kind in (Kind.MESSAGE, Kind.REVIEW, Kind.COMMENT, Kind.REVERT, Kind.CONTROL, Kind.ERROR, Kind.NOTE):
        writer.put(kind, dict.fromkeys(keys, evil) | {"comment_id": 1, "findings": [finding], "unproven": [evil]})
    row = dict.fromkeys(("path", "status", "rule", "why"), evil)
    lists = {"paths": [row, evil], "left": [row], "cleared": [evil], "count": evil, "left_count": evil}
    writer.put(Kind.GUARD, lists | dict.fromkeys(("call_id", "before", "changed", "snapshot"), evil))
    writer.put(Kind.NOTE, {"text": evil, "to": evil, "budget": {"name": evil, "used": 8, "limit": 10}})
    writer.put(Kind.NOTE, {"text": evil, "to": evil, "budget": {"name": [], "used": evil, "limit": None}})
    writer.put(Kind.PROOF, {"state": evil, "commands": [{"command": evil, "output": evil}]})
    writer.status("implementing", "paused", evil, evil)
    run.refresh_from_db()
    html = log_of(transcript.latest(run))
    Document(html)
    assert "<img" not in html
    assert "onerror" in html


def test_texts_that_reorder_or_hide_are_marked(run: Run) -> None:
    html = log_of(transcript.latest(run))
    assert "\u202e" not in html
    assert "U+202E" in html


def test_a_failed_card_is_open_and_a_long_body_of_a_closed_one_stays_away(run: Run) -> None:
    html = {patch["target"]: patch["html"] for patch in transcript.patches(run, events.after(run.pk, 0))}
    failed, denied, long = html["call-toolu_04"], html["call-toolu_05"], html["call-toolu_11"]
    assert "open>" in failed
    assert "a-31 a-b" in failed
    assert "open>" in denied
    assert "Denied" in denied
    assert "Change the code instead." in denied
    assert "open>" not in long
    assert "data-body=" in long
    assert "# Rules" not in long


def test_a_search_links_to_the_line_in_the_workspace(run: Run) -> None:
    html = log_of(transcript.latest(run))
    assert f"/runs/{run.pk}/workspace/file/?path=almanac%2Fbilling.py&amp;line=31" in html


def test_call_ids_become_safe_and_distinct_ids() -> None:
    odd = ["a b", "a/b", "", "é", "-x", 'x"y', "x" * 200]
    assert slug("toolu_01-A") == "toolu_01-A"
    assert len({slug(call_id) for call_id in odd}) == len(odd)
    assert all(slug(call_id).isascii() and " " not in slug(call_id) for call_id in odd)


def test_the_html_names_no_viewer(run: Run) -> None:
    html = log_of(transcript.latest(run))
    assert "csrf" not in html
    assert 'data-author="ben">ben<' in html
