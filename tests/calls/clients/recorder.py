"""A server on the loopback address that notes every request whole, and answers by a script."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Arrived:
    """One request as it arrived."""

    target: str
    headers: dict
    content: bytes


@dataclass
class Recorder:
    """What arrived, and where."""

    url: str = ""
    arrived: list = field(default_factory=list)
    connections: set = field(default_factory=set)


@contextlib.contextmanager
def recording(script):
    """Serve while the block runs."""
    recorder, lock = Recorder(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            content = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                recorder.arrived.append(Arrived(self.path, headers, content))
                recorder.connections.add(self.client_address)
                path = self.path.partition("?")[0]
                delivery = script.receive("POST", path, headers, content, time.monotonic())
            time.sleep(delivery.delay)
            response = delivery.response
            # A client that was cut off has gone.
            with contextlib.suppress(ConnectionError):
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(response.content)))
                self.end_headers()
                self.wfile.write(response.content)
            with lock:
                script.finish(delivery, whole=True)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    recorder.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield recorder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
