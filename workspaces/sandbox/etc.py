"""The /etc of the sandbox: copies of the few host files that programs need, and made-up users and hosts.

One folder is one mount; a mount per file would double the time a command takes to start.
"""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

HOST = Path("/etc")
COPIED = (
    "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs",
    "pki/ca-trust/extracted", "ca-certificates", "ca-certificates.conf", "localtime", "timezone", "mime.types",
    "protocols", "services", "fonts", "magic", "terminfo", "debian_version", "os-release", "maven",
)  # fmt: skip
COPIED_PATTERNS = ("python3*", "java-*", "perl*")
MADE = {
    "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "shells": "/bin/sh\n/bin/bash\n",
}
MAX_FILES = 5000
MAX_BYTES = 64 * 1024**2


def folder(parent: Path) -> Path:
    """Return the /etc folder below `parent`, made anew when what it copies has changed.

    Readers of an older one keep it: its name comes from its content. Costs some milliseconds; call it once per start.
    """
    found = list(_host_files())
    told = (sorted(MADE.items()), [(str(path), _mark(path)) for path in found])
    wanted = parent / f"etc-{hashlib.sha256(repr(told).encode()).hexdigest()[:16]}"
    if wanted.is_dir():
        return wanted
    parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="etc-making-", dir=parent))
    for path in found:
        _copy(path, made / path.relative_to(HOST))
    for filename, text in MADE.items():
        (made / filename).write_text(text, encoding="ascii")
        (made / filename).chmod(0o644)
    for at in (made, *(path for path in made.rglob("*") if path.is_dir() and not path.is_symlink())):
        at.chmod(0o755)
    try:
        made.rename(wanted)
    except OSError:  # another process was first
        shutil.rmtree(made)
    return wanted


def _host_files() -> Iterator[Path]:
    """Yield the files and links to copy: only those every user may read, no more than the bounds."""
    roots = [HOST / name for name in COPIED] + [
        path for pattern in COPIED_PATTERNS for path in sorted(HOST.glob(pattern))
    ]
    count = size = 0
    for path in (path for root in roots for path in _walk(root)):
        found = path.lstat()
        count, size = count + 1, size + found.st_size
        if count > MAX_FILES or size > MAX_BYTES:
            return
        if path.is_symlink() or (stat.S_ISREG(found.st_mode) and found.st_mode & stat.S_IROTH):
            yield path


def _walk(root: Path) -> Iterator[Path]:
    if root.is_symlink() or root.is_file():
        yield root
    for parent, folders, files in os.walk(root):
        folders.sort()
        yield from (Path(parent) / name for name in sorted(files))
        yield from (Path(parent) / name for name in folders if (Path(parent) / name).is_symlink())


def _mark(path: Path) -> tuple[int, int, str]:
    found = path.lstat()
    return found.st_mtime_ns, found.st_size, os.readlink(path) if path.is_symlink() else ""


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
    else:
        shutil.copyfile(source, target)
        target.chmod(0o644)
