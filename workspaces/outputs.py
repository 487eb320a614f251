"""Whole outputs of calls that were cut: stored beside the tree, named by a reference; and how a text is cut."""

import hashlib
import re

from workspaces import cuts
from workspaces.models import Workspace

STORED_CHARS = 20_000_000


def ref_of(call_id: str) -> str:
    """Return the name under which a call's whole output is stored; ids are a provider's, so they are made safe."""
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:60]
    return f"{readable}-{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:8]}.txt"


def store(workspace: Workspace, call_id: str, text: str) -> str:
    """Keep the whole text and return its reference."""
    ref = ref_of(call_id)
    workspace.outputs.mkdir(parents=True, exist_ok=True)
    (workspace.outputs / ref).write_bytes(cuts.head(text, STORED_CHARS).encode("utf-8", "backslashreplace"))
    return ref


def head_and_tail(text: str, limit: int, how: str = "ask for less at once, or for a part, to see them") -> str:
    """Return the text with its middle left out, saying how much that is; cut between lines where there are any near."""
    if len(text) <= limit:
        return text
    head, tail = cuts.head(text, limit // 2), cuts.tail(text, limit - limit // 2)
    head = head[: head.rfind("\n", max(0, len(head) - 500)) + 1] or head
    tail = tail[tail.find("\n", 0, 500) + 1 :]
    left = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[… {left} of {len(text)} characters left out here; {how} …]\n{tail}"
