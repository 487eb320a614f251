"""What left the house: the connections of a run's commands as events, and the sums of them."""

from dataclasses import asdict

from agents.models import Kind
from agents.session import Session
from workspaces.sandbox import Connection


def record(session: Session, call_id: str, connection: Connection) -> None:
    """Store what became of a connection as an event of the run."""
    data = {"call_id": call_id, **asdict(connection)}
    session.append(session.fact(Kind.NETWORK, data, call_id))
