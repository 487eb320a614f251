"""Numbers, times and statuses as the pages write them."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from agents.models import Status
from agents.templatetags import sakura


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (940, "940"), (1000, "1K"), (12_345, "12.3K"), (99_949, "99.9K"), (1_234_567, "1.2M")],
)
def test_counts_are_compact(value: int, words: str) -> None:
    assert sakura.compact(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "$0.00"), (Decimal("0.0042"), "$0.0042"), (5, "$5.00"), ("1234.5", "$1,234.50"), (None, "$0.00"), ("x", "")],
)
def test_money_is_shown_to_the_cent_or_as_small_as_it_is(value: object, words: str) -> None:
    assert sakura.money(value) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ms", "words"), [(0, "0 ms"), (999, "999 ms"), (1500, "1.5 s"), (702_000, "11:42"), (3_723_000, "1:02:03")]
)
def test_durations_grow_with_their_size(ms: int, words: str) -> None:
    assert sakura.duration(ms) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KB"), (5 * 2**20, "5.0 MB"), (3 * 2**30, "3.0 GB")]
)
def test_sizes_are_in_their_unit(value: int, words: str) -> None:
    assert sakura.size(value) == words


def test_ago_is_a_time_with_its_moment() -> None:
    at = timezone.now() - timedelta(minutes=6, seconds=5)
    html = sakura.ago(at)
    assert f'datetime="{at.isoformat()}"' in html
    assert ">6 min ago</time>" in html


def test_a_status_is_an_icon_and_a_word() -> None:
    for status in Status:
        badge = sakura.status_badge(status)
        assert status.label in badge
        assert "<use href=" in badge


@pytest.mark.parametrize(("count", "words"), [(1, "1 file"), (2, "2 files"), (1200, "1,200 files")])
def test_a_noun_follows_its_count(count: int, words: str) -> None:
    assert sakura.count_of(count, "file") == words
