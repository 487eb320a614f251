"""The skills that an agent may load, and what a loaded one lets it use."""

from agents.tools.base import LoadedSkill, ToolError


class AgentSkills:
    """The skills of one agent in one round (the `Skills` of agents.tools.base)."""

    def load(self, name: str, args: str) -> LoadedSkill:
        raise ToolError("NOT_FOUND", f"there is no skill {name!r}.")

    def read(self, name: str, file: str) -> str:
        raise ToolError("NOT_FOUND", f"there is no skill {name!r}.")
