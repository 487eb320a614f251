"""Gets a fresh clone to a running server: virtual environment, pinned requirements, start. Standard library only.

It must be readable by an old Python, so that an old Python gets a sentence and not a traceback.
"""

import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(HERE, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
LEAST = (3, 11)
NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")


def stop(sentence):
    # type: (str) -> None
    """End with one clear line."""
    sys.exit("Sakura can't start: " + sentence)


def check_machine():
    # type: () -> None
    """End with the cure where the machine lacks something."""
    if not sys.platform.startswith("linux"):
        stop("it runs on Linux only, because its sandbox does.")
    if shutil.which("git") is None:
        stop("git is missing. Install it, for example: sudo apt-get install git")
    if sys.version_info < LEAST:
        switch_to_newer_python()


def switch_to_newer_python():
    # type: () -> None
    """Go on under a Python that is new enough, if the machine has one."""
    for name in NEWER:
        path = shutil.which(name)
        if path is not None:
            os.execv(path, [path] + sys.argv)
    stop(
        "it needs Python 3.11 or newer; this is %d.%d. Install one, or name it: make run PYTHON=/path/to/python3.11"
        % sys.version_info[:2]
    )


def make_venv():
    # type: () -> None
    """Make .venv where it is missing, or where its Python is gone."""
    if runs([PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]) and runs(
        [PYTHON, "-m", "pip", "--version"]
    ):
        return
    try:
        import ensurepip  # noqa: F401, PLC0415 -- Debian leaves it out; asked before venv fails halfway
    except ImportError:
        stop("this Python has no ensurepip. On Debian and Ubuntu: sudo apt-get install python3-venv")
    print("Making .venv …", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", VENV], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        stop("the virtual environment could not be made: " + last_line(made.stdout))


def install(requirements):
    # type: (str) -> None
    """Install the pinned requirements, unless exactly these are installed already."""
    marker = os.path.join(VENV, "." + requirements)
    wanted = fingerprint(requirements)
    if os.path.exists(marker) and open(marker).read() == wanted:
        return
    print("Installing %s (a minute or two, once) …" % requirements, flush=True)
    command = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--quiet",
        "-r",
        os.path.join(HERE, requirements),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(done.stdout.decode(errors="replace")[-4000:])
        stop("%s could not be installed (above is why). Is the network up? Run the same command again." % requirements)
    with open(marker, "w") as file:
        file.write(wanted)


def fingerprint(requirements):
    # type: (str) -> str
    digest = hashlib.sha256()
    for name in ("requirements.txt", requirements):
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def install_chromium():
    # type: () -> None
    """Give the browser tests their browser, where that needs no question: as root, on Debian."""
    if shutil.which("chromium") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print("Installing chromium for the browser tests …", flush=True)
    if runs(["apt-get", "update", "-qq"]) and not runs(["apt-get", "install", "-y", "-qq", "chromium"]):
        print("chromium could not be installed; the browser tests will be skipped.", flush=True)


def runs(command):
    # type: (list[str]) -> bool
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def last_line(output):
    # type: (bytes) -> str
    lines = [line for line in output.decode(errors="replace").split("\n") if line.strip()]
    return lines[-1] if lines else "no reason was given"


def main(arguments):
    # type: (list[str]) -> None
    """`bootstrap.py [COMMAND …]`: run manage.py's COMMAND (serve); `--dev`: only install what tests and lint need."""
    check_machine()
    make_venv()
    if arguments[:1] == ["--dev"]:
        install("requirements-dev.txt")
        install_chromium()
        return
    install("requirements.txt")
    os.execv(PYTHON, [PYTHON, os.path.join(HERE, "manage.py")] + (arguments or ["serve"]))


if __name__ == "__main__":
    main(sys.argv[1:])
