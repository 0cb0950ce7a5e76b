"""The steps of the Dockerfile without Docker, as root.

Each ``FROM`` begins with an empty Debian made by debootstrap, with Python where the image has it (/usr/local). Then
the container's command is started as its user, asked for its health, and stopped by its signal.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

__all__ = ["MISSING", "built", "instructions", "started"]

ROOT = Path(__file__).parents[2]
TOOLS = ("debootstrap", "chroot", "setpriv")
MISSING = [name for name in TOOLS if shutil.which(name) is None] + ["root"] * (os.geteuid() != 0)
"""What this takes and is not here."""

SUITE, MIRROR = "trixie", "http://deb.debian.org/debian"
INCLUDED = "ca-certificates,python3,python3-venv"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


def instructions(text):
    """Yield the word and the rest of each instruction, lines that go on joined."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def called(words, **settings):
    """Run a command; what it said is the error where it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **settings)
    if done.returncode:
        raise RuntimeError(
            f"{shlex.join(map(str, words))}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done.stdout


def base(folder):
    """Make the Debian that stands for the image, and return it."""
    root = folder / "base"
    called(["debootstrap", "--variant=minbase", f"--include={INCLUDED}", SUITE, str(root), MIRROR])
    # The image has its Python there, with pip, apart from that of Debian.
    in_root(root, ["python3", "-m", "venv", "/usr/local"])
    # This machine's authorities and its indexes, as a build behind a proxy is given them.
    shutil.copy(f"/{CERTIFICATES}", root / CERTIFICATES)
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    return root


def in_root(root, words, *, user="root", cwd="/"):
    """Run a command within a root and return what it said."""
    return called(command_in(root, words, user=user), env=environment(user), cwd=root / cwd.lstrip("/"))


def command_in(root, words, *, user):
    """Return the command that runs another one within a root as one of its users."""
    return ["chroot", f"--userspec={user}", str(root), *words]


def environment(user):
    """Return what a step sees of the environment: what the image sets."""
    path = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
    home = "/root" if user == "root" else f"/home/{user}"
    return {"PATH": path, "HOME": home, "LANG": "C.UTF-8", "PIP_ROOT_USER_ACTION": "ignore"}


def built(folder, text=None):
    """Run the steps of all stages; return the root of the last one and what it says of its container."""
    folder = Path(folder)
    text = (ROOT / "Dockerfile").read_text("utf-8") if text is None else text
    empty, stages, container, at = base(folder), {}, {}, None
    for word, rest in instructions(text):
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            assert re.fullmatch(r"python:3\.\d+-slim", image)
            at = folder / (name or "last")
            called(["cp", "--archive", str(empty), str(at)])
            stages[name], container = at, {"WORKDIR": "/", "USER": "root"}
        elif word == "COPY":
            _copy(stages, at, rest, container["WORKDIR"])
        elif word == "RUN":
            shell = ["/bin/sh", "-c", f"cd {shlex.quote(container['WORKDIR'])} && {rest}"]
            in_root(at, shell, user=container["USER"])
        else:
            container[word] = rest
            if word == "WORKDIR":
                (at / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
    return at, container


def _copy(stages, at, rest, where):
    source = ROOT
    if rest.startswith("--from="):
        name, _, rest = rest.removeprefix("--from=").partition(" ")
        source = stages[name]
    *names, target = rest.split()
    place = at / (target if target.startswith("/") else f"{where}/{target}").lstrip("/")
    for name in names:
        one = source / name.lstrip("/")
        if one.is_dir():
            shutil.copytree(one, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(one, place)


def started(root, container, settings, *, patience=180):
    """Start the container's command, ask for its health and stop it; return health, exit code and words."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    etc = root / "etc" / "bonwise"
    etc.mkdir(exist_ok=True)
    (etc / "serve.toml").write_text(settings, encoding="utf-8")
    words = [*json.loads(container["ENTRYPOINT"]), *json.loads(container["CMD"])]
    words[words.index("--port") + 1] = port
    user = container["USER"]
    health = [one.replace(":8000/", f":{port}/") for one in json.loads(container["HEALTHCHECK"].removeprefix("CMD "))]
    command = command_in(root, words, user=user)
    with subprocess.Popen(command, env=environment(user), stderr=subprocess.PIPE, text=True) as process:
        healthy, begun = False, time.monotonic()
        while process.poll() is None and not healthy and time.monotonic() - begun < patience:
            time.sleep(0.5)
            done = subprocess.run(
                command_in(root, health, user=user), env=environment(user), capture_output=True, check=False
            )
            healthy = done.returncode == 0
        process.send_signal(getattr(signal, container["STOPSIGNAL"]))
        said = process.communicate(timeout=patience)[1]
    return healthy, process.returncode, said
