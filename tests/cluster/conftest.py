"""A real PostgreSQL in a folder of its own, as a user of its own, on a socket that only this machine has."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from bonwise.calls.ledger.postgres import PostgresLedger

PROGRAMS = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), Path("/usr/local/bin"), Path("/usr/bin")]


def _programs():
    needed = ("initdb", "postgres", "pg_isready", "psql")
    return next((place for place in PROGRAMS if all((place / name).exists() for name in needed)), None)


def _missing():
    if find_spec("asyncpg") is None:
        return "asyncpg is not installed"
    if _programs() is None:
        return "no PostgreSQL server is installed"
    return (
        "" if os.geteuid() or shutil.which("setpriv") else "PostgreSQL does not run as root, and there is no setpriv"
    )


class Server:
    """A server that can be killed, and started again."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bonwise-pg-"))
        self._as_user = []
        if not os.geteuid():
            shutil.chown(self.folder, "postgres", "postgres")
            self._as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self._data = self.folder / "data"
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-instructions")
        self.process = None
        self.start()

    def _run(self, program, *arguments):
        command = [*self._as_user, str(_programs() / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd="/")

    def start(self):
        """Start, and wait until it answers."""
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder), "shared_buffers": "32MB"}
        command = [*self._as_user, str(_programs() / "postgres"), "-D", str(self._data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True)
        until = time.monotonic() + 60
        while True:
            ready = [str(_programs() / "pg_isready"), "-q", "-h", str(self.folder)]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            assert time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.05)

    def kill(self):
        """End it as a power failure would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def address(self, schema):
        """Return the address of a ledger."""
        return f"postgresql://postgres@/postgres?host={self.folder}&schema={schema}"

    def sql(self, statement, schema):
        """Return the lines that a statement prints."""
        command = [
            str(_programs() / "psql"),
            "-h",
            str(self.folder),
            "-U",
            "postgres",
            "-tA",
            "-v",
            "ON_ERROR_STOP=1",
        ]
        environment = os.environ | {"PGOPTIONS": f"-c search_path={schema}"}
        done = subprocess.run(
            [*command, "-c", statement], check=True, capture_output=True, text=True, env=environment
        )
        return done.stdout.splitlines()

    def close(self):
        """End it, and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder)


@pytest.fixture(scope="session")
def server():
    """Return the server; without one skip, or fail under BONWISE_REQUIRE_POSTGRES=1."""
    if missing := _missing():
        if os.environ.get("BONWISE_REQUIRE_POSTGRES") == "1":
            pytest.fail(f"BONWISE_REQUIRE_POSTGRES is 1, and {missing}")
        pytest.skip(missing)
    server = Server()
    yield server
    server.close()


@pytest.fixture
def address(server, request):
    """Return the address of a ledger that no other test has."""
    name = "".join(letter if letter.isalnum() else "_" for letter in request.node.name.lower())
    return server.address(f"t_{name}"[:60])


@pytest.fixture
def ledger(address):
    """Return an open ledger."""
    with PostgresLedger(address) as opened:
        yield opened
