"""The secrets of a repository, and which command of a task gets which."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskSecrets:
    """What the policy of one task gives to commands (the `Secrets` of agents.tools.base)."""

    def for_command(self, command: str) -> tuple[tuple[str, str], ...]:
        """Return the variables, with their values, that this command may have."""
        return ()
