"""What is kept of places on disk: sources, workspaces, snapshots, what was read, what to go back to."""

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models import Q


class Repository(models.Model):
    """A git source that an operator added; Sakura keeps a bare mirror and never writes to the source."""

    class Status(models.TextChoices):
        MIRRORING = "mirroring"
        READY = "ready"
        FAILED = "failed"

    name = models.CharField(max_length=100, unique=True)
    source = models.CharField(max_length=2000, help_text="An absolute path, or a URL without a password.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.MIRRORING)
    error = models.TextField(blank=True, help_text="Why the last mirroring failed, and what to try.")
    progress = models.CharField(max_length=200, blank=True, help_text="What git last said of its progress.")
    percent = models.PositiveSmallIntegerField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    claimed_until = models.DateTimeField(null=True, blank=True, help_text="Until when a worker mirrors it.")
    default_branch = models.CharField(
        max_length=250, blank=True, help_text="A branch, or a commit if HEAD is detached."
    )
    credential = models.BinaryField(blank=True, default=b"", help_text="Encrypted; for https sources.")
    setup = models.JSONField(default=list, blank=True, help_text="Commands that install what the project needs.")
    setup_hosts = models.JSONField(default=list, blank=True, help_text="host:port that set-up may reach.")
    verify = models.JSONField(default=list, blank=True, help_text="Commands that must pass before a task is done.")
    may_change_tests = models.BooleanField(
        default=False, help_text="What the form of a new task starts with: as in the last task."
    )
    notices = models.JSONField(default=list, blank=True, help_text="Sentences to show, such as on submodules.")
    suggestions = models.JSONField(
        default=dict, blank=True, help_text='{"setup": [{"command", "because"}], "verify": […], "hosts": […]}'
    )
    is_demo = models.BooleanField(default=False)
    fetched_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=["mirroring", "ready", "failed"]), name="repository_status"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def folder(self) -> Path:
        return Path(settings.SAKURA_DATA_DIR) / "repositories" / str(self.pk)

    @property
    def mirror(self) -> Path:
        """The bare mirror of the source; agents may read its objects."""
        return self.folder / "mirror.git"

    @property
    def store(self) -> Path:
        """The bare run store: one ref per run, a chain of snapshots; no agent sees it."""
        return self.folder / "runs.git"


class Workspace(models.Model):
    """The folder a run works in. Its id is the run's id."""

    id = models.BigIntegerField(primary_key=True)
    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="workspaces")
    base_name = models.CharField(max_length=250, help_text="The branch, tag or commit as it was asked for.")
    base_commit = models.CharField(max_length=40)
    epoch = models.PositiveIntegerField(default=0, help_text="Names the tree folder in use; 0: none was made yet.")
    tree_snapshot = models.IntegerField(
        default=-1, help_text="The snapshot that the tree on disk was last in line with."
    )

    visible_tree = models.CharField(
        max_length=40, blank=True, help_text="The tree of the base that its agents may see; empty: all, with history."
    )

    def __str__(self) -> str:
        return f"workspace {self.pk}"

    @property
    def folder(self) -> Path:
        return Path(settings.SAKURA_RUNS_DIR) / str(self.pk)

    @property
    def tree(self) -> Path:
        """The working tree; its .git belongs to the agent and Sakura never reads it."""
        return self.folder / f"e{self.epoch}" / "tree"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def fresh(self) -> Path:
        """Where trees lie that were laid out for a while (see fresh.py): the reviewer's, and proof's."""
        return self.folder / "fresh"

    @property
    def readable(self) -> Path:
        """Where objects lie that its agents' git may read in place of the mirror's (see readable.py)."""
        return self.folder / "readable"

    @property
    def outputs(self) -> Path:
        """Whole outputs that were cut; files named by their reference."""
        return self.folder / "outputs"


class Snapshot(models.Model):
    """The tree after a call, or a human's revert, that changed it; number 0 is the baseline."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="snapshots")
    number = models.PositiveIntegerField()
    tree = models.CharField(max_length=40)
    commit = models.CharField(max_length=40, help_text="Its commit in the run store.")
    call_id = models.CharField(
        max_length=200, blank=True, help_text="The call that made it; empty for a human's revert."
    )
    step = models.PositiveIntegerField(default=0)
    files = models.JSONField(default=list, help_text='At most 200 of {"path", "status", "additions", "deletions"}.')
    file_count = models.PositiveIntegerField(default=0)
    hidden = models.JSONField(default=list, help_text="Paths stored although a rule the run added would ignore them.")
    skipped = models.JSONField(
        default=list,
        help_text='What lay in the tree at the last look and could not be stored: at most 200 of {"path", "why"}.',
    )
    skipped_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["workspace", "number"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "number"], name="one_snapshot_per_number"),
            models.UniqueConstraint(
                fields=["workspace", "call_id"], condition=~Q(call_id=""), name="one_snapshot_per_call"
            ),
        ]

    def __str__(self) -> str:
        return f"snapshot {self.number} of {self.workspace_id}"

    @staticmethod
    def called(number: int) -> str:
        """Return the words for the snapshot of that number, as they stand in a sentence."""
        return "the baseline" if number == 0 else f"snapshot {number}"


class ReadState(models.Model):
    """What one reader (an agent's role) has seen of one file."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="reads")
    reader = models.CharField(max_length=40)
    path = models.CharField(max_length=4096)
    ranges = models.JSONField(
        default=list, help_text="[[first line, last line, sha256 of the bytes shown], …], disjoint."
    )
    whole = models.CharField(max_length=64, blank=True, help_text="sha256 of the file after a whole read, else empty.")
    size = models.BigIntegerField(default=0)
    mtime_ns = models.BigIntegerField(default=0)
    ctime_ns = models.BigIntegerField(default=0)
    inode = models.DecimalField(max_digits=20, decimal_places=0, default=0)
    encoding = models.CharField(max_length=40, default="utf-8")
    newline = models.CharField(max_length=5, default="lf", help_text="lf, crlf or mixed")
    step = models.PositiveIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["path"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "reader", "path"], name="one_read_state_per_reader_and_path"),
        ]

    def __str__(self) -> str:
        return f"{self.reader} read {self.path}"


class Baseline(models.Model):
    """What a touched file was when the run started; per-file revert goes back to it."""

    class Kind(models.TextChoices):
        ABSENT = "absent"
        FILE = "file"
        LINK = "link"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="baselines")
    path = models.CharField(max_length=4096)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    mode = models.CharField(max_length=6, blank=True, help_text="As in git: 100644, 100755, 120000.")
    blob = models.CharField(max_length=40, blank=True, help_text="The object in the run store.")
    size = models.BigIntegerField(default=0)
    ignored = models.BooleanField(default=False, help_text="Git ignores it, so only this row knows its first bytes.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["path"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "path"], name="one_baseline_per_path"),
        ]

    def __str__(self) -> str:
        return f"baseline of {self.path}"
