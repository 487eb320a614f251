"""Every attack of the table fails in the sandbox, and its control shows that the script is live."""

import pytest

from tests.agents.tools.bench import Bench
from tests.wall.attack import Attack
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
