"""Proofs: what the verify commands showed of a snapshot, and what it changed of what the tests mean."""

from django.db import models
from django.db.models import Q

from agents.models.run import Run
from workspaces.models import Repository


class ProofState(models.TextChoices):
    """What is known of a snapshot. That files changed since is no state of a proof: see agents/proofs.py."""

    WAITING = "waiting", "Waits"
    RUNNING = "running", "Running"
    GREEN = "green", "Green"
    RED = "red", "Red"
    UNPROVEN = "unproven", "Unproven"

    @property
    def is_open(self) -> bool:
        return self in (ProofState.WAITING, ProofState.RUNNING)


class Proof(models.Model):
    """What Sakura itself found of one tree of a run; one row for each tree."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="proofs")
    snapshot = models.PositiveIntegerField(help_text="The snapshot that it was made of.")
    tree = models.CharField(max_length=40, help_text="The tree of that snapshot.")
    proved_tree = models.CharField(
        max_length=40, blank=True, help_text="The same with the baseline's protected files, and without planted ones."
    )
    round = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=10, choices=ProofState.choices, default=ProofState.WAITING)
    reasons = models.JSONField(default=list, help_text="Sentences on why it is red, or unproven.")
    commands = models.JSONField(default=list, help_text="CommandResults (workspaces/proving), without their tests.")
    tests = models.JSONField(default=dict, help_text="Sums and names of tests (workspaces/proving/judging.py: Tests).")
    put_back = models.JSONField(default=list, help_text="Paths that were put back to the baseline for it; at most 200.")
    left_out = models.JSONField(
        default=list, help_text='Planted files that were left out: at most 200 {"path", "why"}.'
    )
    integrity = models.JSONField(default=dict, help_text="The Report (workspaces/integrity/findings.py).")
    owner = models.CharField(max_length=200, blank=True, help_text="Who makes it, as a lease names them.")
    claimed_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "tree"], name="one_proof_per_tree"),
            models.CheckConstraint(condition=Q(state__in=ProofState.values), name="proof_state"),
        ]
        indexes = [models.Index(fields=["state"], condition=Q(state__in=["waiting", "running"]), name="open_proofs")]

    def __str__(self) -> str:
        return f"{self.state} proof of snapshot {self.snapshot} of run {self.run_id}"


class BaseProof(models.Model):
    """What the verify commands showed at a base: tests that were red before count against nobody."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="base_proofs")
    key = models.CharField(max_length=64, help_text="Of the base's tree, the commands and the set-up.")
    commands = models.JSONField(default=list, help_text="CommandResults (workspaces/proving), with their tests.")
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["repository", "key"], name="one_base_proof_per_key")]

    def __str__(self) -> str:
        return f"base proof {self.key[:10]} of {self.repository_id}"
