"""Commands that run on while the agent does other things: one thread each, told apart by an id."""


class Jobs:
    """The background commands of one agent at work."""
