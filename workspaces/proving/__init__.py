"""Proof of done: verify commands run on a snapshot with the baseline's tests, understood test by test, and judged."""
