"""The secrets of a repository: kept sealed, never given back, and which command of a task gets which."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from agents import masks, secret_rules
from agents.access import demand
from agents.control import Refused
from agents.models import Role, Secret
from agents.models.task import SecretUse
from workspaces import credentials, masking
from workspaces.models import Repository

LEAST, MOST = masking.SHORTEST, 8192
"""Characters of a value."""
PER_REPOSITORY = 50
IN_ALL = 64 * 1024
"""Characters of all values of a repository: so much every output can be searched for."""
DIFFERENT = 4
"""Characters that differ, at least, in a value."""

_TAKEN = {
    "where programs are found and what is loaded into them": r"PATH|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*",
    "what a shell runs, and how": r"BASH.*|ENV|SHELL|SHELLOPTS|IFS|PS[0-4]|PROMPT_COMMAND|CDPATH|PWD|OLDPWD|_",
    "what a language runs before the program": (
        r"PYTHON.*|VIRTUAL_ENV|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|NPM_CONFIG_.*|PERL.*|RUBY.*|GEM_.*|JAVA_.*"
        r"|_JAVA_OPTIONS|JDK_.*|MAVEN_OPTS|GRADLE_OPTS|CLASSPATH|GOFLAGS|RUSTC.*|RUSTFLAGS"
    ),
    "what git runs, and on what": r"GIT_.*|SSH_ASKPASS|EDITOR|VISUAL|PAGER",
    "where a command lives": r"HOME|USER|LOGNAME|TMPDIR|TMP|TEMP|TERM|TZ|LANG|LANGUAGE|LC_.*|CI|XDG_.*",
    "how the network is reached": r"(HTTPS?|FTP|ALL|NO)_PROXY|SSL_CERT_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE",
    "how Sakura runs": r"SAKURA_.*",
}
"""Names that no secret may have, whether in small or capital letters, by what they change."""


# --- keeping -------------------------------------------------------------------------------------------


def put(repository: Repository, by: User, name: str, value: str) -> Secret:
    """Set or replace a secret. Raises Refused, whose message names the field."""
    demand(by, Role.OPERATOR)
    _check_name(name)
    value = _checked(value)
    with transaction.atomic():
        others = masks.values(_locked(repository).secrets.exclude(name=name))
        if len(others) >= PER_REPOSITORY:
            raise Refused("TOO_MANY", f"name: the repository has {len(others)} secrets, as many as it may; delete one.")
        if sum(len(other) for _, other in others) + len(value) > IN_ALL:
            raise Refused("TOO_LONG", f"value: all secrets together have {IN_ALL:,} characters at most.", 422)
        sealed = credentials.seal(value, credentials.SECRET)
        row, _ = repository.secrets.update_or_create(name=name, defaults={"sealed": sealed, "set_by": by})
    return row


def delete(repository: Repository, by: User, name: str) -> None:
    """Forget a secret. What was shown of it, masked, stays as it is. Raises Refused."""
    demand(by, Role.OPERATOR)
    gone, _ = repository.secrets.filter(name=name).delete()
    if not gone:
        raise Refused("NOT_FOUND", f"name: there is no secret “{name[:100]}”. {_there(repository)}", 404)


def is_readable(row: Secret) -> bool:
    """Return whether the value can be opened: it was sealed with the server's present key."""
    try:
        credentials.unseal(bytes(row.sealed), credentials.SECRET, row.name)
    except credentials.CredentialUnreadable:
        return False
    return True


def _locked(repository: Repository) -> Repository:
    return Repository.objects.select_for_update().get(pk=repository.pk)


def _check_name(name: str) -> None:
    if not re.fullmatch(secret_rules.NAME, name):
        raise Refused(
            "INVALID_INPUT",
            "name: the name of an environment variable has letters, digits and _, as in NPM_TOKEN; 100 at most.",
            422,
        )
    why = next((why for why, names in _TAKEN.items() if re.fullmatch(names, name, re.IGNORECASE)), "")
    if why:
        raise Refused("INVALID_INPUT", f"name: {name} says {why}, so no secret can have it; choose another.", 422)


def _checked(value: str) -> str:
    """Return the value as it is kept: lines end as on Unix, and a single one has nothing around it."""
    value = value.replace("\r\n", "\n")
    value = value if "\n" in value.strip() else value.strip()
    fault = ""
    if not LEAST <= len(value) <= MOST:
        fault = f"it has {len(value):,} characters; from {LEAST} to {MOST:,} are taken, as a shorter one can’t be "
        fault += "masked without ruining what agents print."
    elif len(set(value)) < DIFFERENT:
        fault = f"it has fewer than {DIFFERENT} different characters, so masking it would ruin what agents print."
    elif re.search("[\0\ud800-\udfff]", value):
        fault = "it holds a character that no variable can hold."
    if fault:
        raise Refused("INVALID_INPUT", f"value: {fault}", 422)
    return value


def _there(repository: Repository) -> str:
    names = ", ".join(repository.secrets.values_list("name", flat=True)[:PER_REPOSITORY])
    return f"There are: {names}." if names else "There is none yet."


# --- naming --------------------------------------------------------------------------------------------


def unknown(repository: Repository, uses: Sequence[SecretUse]) -> str:
    """Return what is wrong with the names that a policy gives, in a sentence; "" if the repository has them all."""
    if not uses:
        return ""
    known = set(repository.secrets.values_list("name", flat=True))
    missing = sorted({use.name for use in uses} - known)
    if not missing:
        return ""
    return f"“{repository.name}” has no secret {', '.join(missing)}. {_there(repository)} Set it on its page first."


# --- giving --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaskSecrets:
    """What the policy of one task gives to commands (the `Secrets` of agents.tools.base)."""

    repository_id: int = 0
    uses: tuple[SecretUse, ...] = ()

    def for_command(self, command: str) -> tuple[tuple[str, str], ...]:
        """Return the variables, with their values, that this command may have. One query where rules give any."""
        names = [use.name for use in self.uses if secret_rules.gets(command, use.commands)]
        rows = Secret.objects.filter(repository=self.repository_id, name__in=names) if names else ()
        return tuple(masks.values(rows))

    def hint(self, command: str, given: Collection[str]) -> str:
        """Return a word to the agent on secrets that the command names and did not get, "" if there are none."""
        missed = [
            use for use in self.uses if use.name not in given and re.search(rf"\b{re.escape(use.name)}\b", command)
        ]
        return "".join(f"\n[{self._why(use, command)}]" for use in missed)

    def _why(self, use: SecretUse, command: str) -> str:
        if secret_rules.gets(command, use.commands):
            return f"{use.name} was not given: a person has to set it again on the repository's page"
        rules = ", ".join(f"`{rule}`" for rule in use.commands)
        return f"{use.name} is not given to this command. Only {rules} gets it, by itself on a plain line, without $"

    def described(self) -> str:
        """Return the names and the commands that get them, for an agent; never a value."""
        return "; ".join(f"{use.name}, only for {', '.join(f'`{rule}`' for rule in use.commands)}" for use in self.uses)
