"""Names that git does not take, because they are `.git` or some file system takes them for it."""

import re

# What git itself refuses as a name because some file system takes it for ".git" (CVE-2014-9390, CVE-2019-1352).
_LIKE_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?:[:\\].*)?", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def is_unfit(name: str) -> bool:
    """Return whether git would not take this name because it is `.git` or may pass for it."""
    return _LIKE_GIT.fullmatch(name if name.isascii() else _UNSEEN.sub("", name)) is not None
