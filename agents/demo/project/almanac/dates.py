"""Month arithmetic for terms and renewals."""

from datetime import date, timedelta


def period_end(start: date, months: int) -> date:
    """Return the last day of a term of `months` that starts on `start`."""
    return add_months(start, months) - timedelta(days=1)


def add_months(day: date, months: int) -> date:
    """Return the same day of the month, `months` later."""
    month = day.month + months
    year = day.year + month // 12
    month = month % 12
    return day.replace(year=year, month=month)
