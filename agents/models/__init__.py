"""What is kept of tasks, runs and people; the rules of who may move what live on these models."""

from agents.models.access import ApiToken, IdempotencyKey, LoginLink, Role, has_role, roles_of
from agents.models.proof import BaseProof, Proof, ProofState
from agents.models.review import Comment, Review, Verdict
from agents.models.run import Agent, CallState, Control, Event, Kind, Run, Status, ToolCall
from agents.models.secret import Secret
from agents.models.skill import DisabledSkill
from agents.models.task import Budgets, Policy, Task

__all__ = [
    "Agent",
    "ApiToken",
    "BaseProof",
    "Budgets",
    "CallState",
    "Comment",
    "Control",
    "DisabledSkill",
    "Event",
    "IdempotencyKey",
    "Kind",
    "LoginLink",
    "Policy",
    "Proof",
    "ProofState",
    "Review",
    "Role",
    "Run",
    "Secret",
    "Status",
    "Task",
    "ToolCall",
    "Verdict",
    "has_role",
    "roles_of",
]
