"""When a customer is billed, and reminded of it."""

from datetime import datetime, timedelta

from almanac.dates import add_months

REMIND_BEFORE = timedelta(days=7)


def next_bill(last: datetime, months: int) -> datetime:
    """Return when the next bill goes out: at the same hour as the last one."""
    return add_months(last, months)


def reminder(last: datetime, months: int) -> datetime:
    """Return when the customer is reminded of the next bill."""
    return next_bill(last, months) - REMIND_BEFORE
