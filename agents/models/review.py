"""Reviews by agents and humans, and comments on lines."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models.run import Run


class Verdict(models.TextChoices):
    """What a review asks for."""

    APPROVE = "approve", "Approve"
    REQUEST_CHANGES = "request_changes", "Changes requested"
    REJECT = "reject", "Reject"


class Review(models.Model):
    """A verdict with a summary and findings, by the reviewer agent or a human (`user` set)."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="reviews")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    by_human = models.BooleanField(default=False)
    round = models.PositiveIntegerField()
    verdict = models.CharField(max_length=20, choices=Verdict.choices)
    score = models.PositiveSmallIntegerField(null=True, blank=True, help_text="1 to 10; agents give one.")
    summary = models.TextField(blank=True)
    findings = models.JSONField(default=list)
    despite = models.TextField(blank=True, help_text="Why it is approved although the proof speaks against it.")
    snapshot = models.PositiveIntegerField(default=0, help_text="The snapshot that was judged.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.CheckConstraint(condition=Q(verdict__in=Verdict.values), name="review_verdict")]

    def __str__(self) -> str:
        return f"{self.verdict} on run {self.run_id}"


class Comment(models.Model):
    """A human's remark on a line of the diff, or on the whole (no path); open until it goes out with a review."""

    class Side(models.TextChoices):
        OLD = "old"
        NEW = "new"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="comments")
    review = models.ForeignKey(Review, null=True, blank=True, on_delete=models.SET_NULL, related_name="comments")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    path = models.CharField(max_length=4096, blank=True)
    line = models.PositiveIntegerField(null=True, blank=True)
    side = models.CharField(max_length=3, choices=Side.choices, default=Side.NEW)
    snapshot = models.PositiveIntegerField(default=0)
    body = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.CheckConstraint(condition=Q(side__in=["old", "new"]), name="comment_side")]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"
