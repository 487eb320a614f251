"""What a reader has seen of each file, and whether that is still what the file holds."""

from workspaces.models import Workspace


class Reads:
    """The read states of one (workspace, reader): in memory while a run is held, rows after `save`."""

    def __init__(self, workspace: Workspace, reader: str) -> None:
        self.workspace = workspace
        self.reader = reader
