"""The table of attacks."""

from tests.wall import attacks_hidden as hidden
from tests.wall import attacks_kernel as kernel
from tests.wall import attacks_later as later
from tests.wall import attacks_network as network
from tests.wall import attacks_outside as outside
from tests.wall import attacks_resources as resources
from tests.wall.attack import Attack

ATTACKS: tuple[Attack, ...] = (
    *outside.FILES,
    *outside.APPLICATION,
    *outside.RUNS,
    *hidden.HIDES,
    *outside.PROCESSES,
    *network.SOCKETS,
    *kernel.KERNEL,
    *kernel.PRIVILEGES,
    *resources.RESOURCES,
    *resources.DAEMONS,
    *later.LATER,
)
