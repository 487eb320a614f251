"""Every attack of the table fails in the sandbox, and its control shows that the script is live."""

import pytest

from agents.models import Policy
from tests.agents.tools.bench import Bench
from tests.wall.attack import BARE, Attack, Group, prints
from tests.wall.attacks import ATTACKS
from tests.wall.scene import Scene

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_fails_and_its_control_does_not(attacker: Bench, attack: Attack) -> None:
    with Scene.of(attack, attacker) as scene:
        result = scene.inside(attack)
        assert not attack.breach(scene, result), f"{attack.name}:\n{result.content}"
        if why := attack.absent():
            pytest.skip(f"it failed, and no control can be shown here: {why}")
        assert attack.control.holds(scene, attack), f"the control of {attack.name}:\n{scene.results[-1].content}"


HISTORY = Attack(
    "A file that the policy hides is read from the history",
    Group.RUNS,
    "git show HEAD:README.md; git cat-file -p $(git rev-parse HEAD:README.md)",
    prints("Adds numbers"),
    "nothing",
    BARE,
    language="bash",
)


@pytest.mark.xfail(strict=True, reason="the agent's git borrows the mirror's objects, and those hold every path")
def test_a_committed_file_that_the_policy_hides_can_not_be_read_from_the_history(attacker: Bench) -> None:
    attacker.policy = Policy(hidden=["README.md"])
    with Scene.of(HISTORY, attacker) as scene:
        assert not HISTORY.breach(scene, scene.inside(HISTORY))
