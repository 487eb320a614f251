"""Says with what a soak runs, so that what it finds can be found again."""

from tests.soak import holding


def pytest_report_header() -> str | None:
    if not holding.IS_SOAK:
        return None
    return f"soak: seed {holding.SEED}, {holding.SECONDS:.0f} s a property; `make soak SEED={holding.SEED}` repeats it"
