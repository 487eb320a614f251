"""Rust: the tool's own tests, in files of tests and beside the code; rstest, tokio."""

import re
from collections.abc import Iterator

from .conditions import _CALLS as CALLS
from .conditions import Check, compared
from .grammar import Grammar, Link, chain, dotted, joined, norm, tokens
from .nodes import Nodes
from .units import Definition, Fact, Mark, Tongue
