"""A scripted reranker on this machine: it keeps every request, and answers as its service publishes it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def by_length(path, body):
    """Score each text by a hundredth of its length, the best first, in the words of the service of the path."""
    texts = body.get("documents") or body.get("texts") or body["text_2"]
    name = "score" if "texts" in body or path.endswith("/score") else "relevance_score"
    items = sorted(
        ({"index": at, name: len(text) / 100} for at, text in enumerate(texts)), key=lambda item: -item[name]
    )
    if "texts" in body:
        return 200, items
    if path == "/v2/rerank":
        return 200, {"id": "1", "results": items, "meta": {"billed_units": {"search_units": 1}}}
    listed = "data" if path in {"/voyage/rerank", "/score"} else "results"
    return 200, {"model": body["model"], listed: items, "usage": {"total_tokens": 40, "prompt_tokens": 40}}


@dataclass
class Reranking:
    """What was asked, and what is answered."""

    url: str = ""
    answer: Any = by_length
    asked: list[tuple[str, bytes, Mapping[str, str]]] = field(default_factory=list)
    """Path, body and headers of each request."""


@contextmanager
def reranking(answer=by_length):
    """Serve while the block runs."""
    served = Reranking(answer=answer)

    class Handler(BaseHTTPRequestHandler):
        # HTTP/1.0: no connection outlives the event loop of a test.

        def do_POST(self):
            content = self.rfile.read(int(self.headers["Content-Length"]))
            served.asked.append((self.path, content, dict(self.headers)))
            status, reply = served.answer(self.path, json.loads(content))
            written = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
