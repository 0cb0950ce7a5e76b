"""Batches of OpenAI and Anthropic on a port of this machine, as their documentation has them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from bonwise.testing.script import Script
from bonwise.testing.wire import body_digest

LIVE = {"/v1/chat/completions", "/v1/messages"}


class BatchService:
    """Files, batches and their results; live calls too. What a request of a batch is answered, a script decides.

    `polls` is how often a batch is looked at before it has ended. `lost` maps the position of a request in its batch
    to ``expired`` or to an error of a service, ``(status, body)``. `on_event` is called with the name of each thing
    that happens, in the thread of the request: it may wait, or kill who asks.
    """

    def __init__(self, script=None, *, polls=2, lost=None, page=20, key=None):
        self.script = script or Script()
        self.polls, self.lost, self.page, self.key = polls, lost or {}, page, key
        self.files, self.batches = {}, {}
        self.submitted = Counter()
        """Requests that were accepted in batches, by digest of the body."""
        self.live = 0
        self.events = []
        self.on_event = lambda _name: None
        self.refuse_create = []
        """Statuses with which the next submissions are refused; ``lost`` accepts one and says nothing."""
        self.lock = threading.Lock()
        self.url = ""

    @contextmanager
    def served(self):
        """Serve while the block runs."""
        handler = type("Handler", (_Handler,), {"service": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def happen(self, name):
        """Note an event."""
        with self.lock:
            self.events.append(name)
        self.on_event(name)

    def add(self, requests, endpoint, **said):
        """Accept a batch of ``(custom_id, body)``."""
        with self.lock:
            number = len(self.batches) + 1
            batch = {
                "id": f"batch_{number}",
                "requests": requests,
                "endpoint": endpoint,
                "looks": 0,
                "at": time.time(),
            }
            self.batches[batch["id"]] = batch | said
            self.submitted.update(body_digest(body) for _, body in requests)
        return self.batches[batch["id"]]

    def ended(self, batch):
        """Tell whether a batch has ended."""
        return batch["looks"] > self.polls

    def results(self, batch):
        """Return id, status and body of each result, the last request first: the order means nothing."""
        rows = []
        for at, (custom_id, body) in reversed(list(enumerate(batch["requests"]))):
            lost = self.lost.get(at)
            if callable(lost):
                lost = lost(body)
            if lost == "expired":
                rows.append((custom_id, None, None))
            elif lost is not None:
                rows.append((custom_id, *lost))
            else:
                with self.lock:
                    delivery = self.script.receive("POST", batch["endpoint"], {}, json.dumps(body).encode(), 0.0)
                    self.script.finish(delivery, whole=True)
                rows.append((custom_id, delivery.response.status, json.loads(delivery.response.content)))
        return rows


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: BatchService

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        self._answered()

    def do_POST(self):
        self._answered()

    def _answered(self):
        where = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        assert "transfer-encoding" not in self.headers
        keys = {self.headers.get("x-api-key"), (self.headers.get("authorization") or "").removeprefix("Bearer ")}
        if self.service.key is not None and self.service.key not in keys:
            self._say(401, {"error": {"message": f"Incorrect API key provided: {sorted(filter(None, keys))}"}})
            return
        try:
            status, body = self._route(self.command, where.path, parse_qs(where.query), content)
            self._say(status, body)
        except (ConnectionError, BrokenPipeError):
            self.close_connection = True

    def _say(self, status, body):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        half = len(raw) // 2
        if half > 400 and isinstance(body, bytes):
            self.wfile.write(raw[:half])
            self.service.happen("half of the results")
            self.wfile.write(raw[half:])
        else:
            self.wfile.write(raw)

    def _route(self, method, path, query, content):
        service = self.service
        if path in LIVE:
            service.live += 1
            with service.lock:
                delivery = service.script.receive(method, path, {}, content, 0.0)
                service.script.finish(delivery, whole=True)
            return delivery.response.status, delivery.response.content
        if (method, path) == ("POST", "/v1/files"):
            service.happen("uploading")
            boundary = re.search(r"boundary=(\S+)", self.headers["content-type"])[1].encode()
            part = next(part for part in content.split(b"--" + boundary) if b'filename="' in part)
            with service.lock:
                name = f"file-{len(service.files) + 1}"
                service.files[name] = part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
            service.happen("uploaded")
            return 200, {
                "id": name,
                "object": "file",
                "bytes": 1,
                "created_at": 1,
                "filename": "x",
                "purpose": "batch",
            }
        if path.startswith("/v1/files/"):
            service.happen("results are asked for")
            return 200, service.files[path.split("/")[3]]
        if path.startswith("/v1/batches"):
            return self._openai(method, path, query, content)
        if path.startswith("/v1/messages/batches"):
            return self._anthropic(method, path, query, content)
        return 404, {"error": {"message": "Not Found", "type": "invalid_request_error"}}

    def _create(self, requests, endpoint, shown, **said):
        service = self.service
        service.happen("submitting")
        refused = service.refuse_create.pop(0) if service.refuse_create else None
        if isinstance(refused, int):
            return refused, {"error": {"type": "api_error", "message": "not now"}}
        batch = service.add(requests, endpoint, **said)
        service.happen("submitted")
        if refused == "lost":
            raise ConnectionError
        return 200, shown(batch)

    def _openai(self, method, path, query, content):
        service = self.service
        if method == "POST":
            asked = json.loads(content)
            lines = [json.loads(line) for line in service.files[asked["input_file_id"]].splitlines()]
            assert {line["url"] for line in lines} == {asked["endpoint"]}
            assert len({line["custom_id"] for line in lines}) == len(lines)
            requests = [(line["custom_id"], line["body"]) for line in lines]
            return self._create(requests, asked["endpoint"], self._openai_batch, metadata=asked["metadata"])
        if path == "/v1/batches":
            service.happen("listing")
            return 200, _page(service, query, self._openai_batch, {"object": "list"})
        batch = service.batches.get(path.split("/")[3])
        if batch is None:
            return 404, {"error": {"message": "No batch found", "type": "invalid_request_error"}}
        batch["looks"] += 1
        service.happen("looked at")
        return 200, self._openai_batch(batch)

    def _openai_batch(self, batch):
        service, ended = self.service, self.service.ended(batch)
        if ended and "output" not in batch:
            good, bad = [], []
            for custom_id, status, body in service.results(batch):
                line = {"id": f"batch_req_{custom_id[:6]}", "custom_id": custom_id, "response": None, "error": None}
                if status is None:
                    line["error"] = {
                        "code": "batch_expired",
                        "message": "This request could not be executed in time.",
                    }
                else:
                    line["response"] = {"status_code": status, "request_id": f"req_{custom_id[:6]}", "body": body}
                (good if status == 200 else bad).append(json.dumps(line, ensure_ascii=False))
            for name, lines in (("output", good), ("errors", bad)):
                batch[name] = f"file-{name}-{batch['id']}" if lines else None
                service.files[batch[name]] = "\n".join(lines).encode()
        counts = {"total": len(batch["requests"]), "completed": 0, "failed": 0}
        return {
            "id": batch["id"],
            "object": "batch",
            "endpoint": batch["endpoint"],
            "errors": None,
            "input_file_id": "file-1",
            "completion_window": "24h",
            "status": ("expired" if "expired" in service.lost.values() else "completed") if ended else "in_progress",
            "output_file_id": batch.get("output"),
            "error_file_id": batch.get("errors"),
            "created_at": int(batch["at"]),
            "request_counts": counts,
            "metadata": batch["metadata"],
        }

    def _anthropic(self, method, path, query, content):
        service = self.service
        assert self.headers["anthropic-version"]
        if method == "POST":
            lines = json.loads(content)["requests"]
            assert len({line["custom_id"] for line in lines}) == len(lines)
            requests = [(line["custom_id"], line["params"]) for line in lines]
            return self._create(requests, "/v1/messages", self._anthropic_batch)
        if path == "/v1/messages/batches":
            service.happen("listing")
            return 200, _page(service, query, self._anthropic_batch, {})
        batch = service.batches.get(path.split("/")[4])
        if batch is None:
            return 404, {"type": "error", "error": {"type": "not_found_error", "message": "no such batch"}}
        if path.endswith("/results"):
            service.happen("results are asked for")
            lines = [
                {"custom_id": custom_id, "result": _anthropic_result(status, body)}
                for custom_id, status, body in service.results(batch)
            ]
            return 200, "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
        batch["looks"] += 1
        service.happen("looked at")
        return 200, self._anthropic_batch(batch)

    def _anthropic_batch(self, batch):
        ended, count = self.service.ended(batch), len(batch["requests"])
        at = datetime.fromtimestamp(batch["at"], UTC).isoformat()
        nothing = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        return {
            "id": batch["id"],
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": nothing | {"succeeded" if ended else "processing": count},
            "created_at": at,
            "expires_at": at,
            "ended_at": at if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.service.url}/v1/messages/batches/{batch['id']}/results" if ended else None,
        }


def _anthropic_result(status, body):
    if status is None:
        return {"type": "expired"}
    if status == 200:
        return {"type": "succeeded", "message": body}
    return {"type": "errored", "error": body}


def _page(service, query, shown, envelope):
    """Return a page of batches, the newest first."""
    ids = list(service.batches)[::-1]
    after = query.get("after", query.get("after_id"))
    begin = ids.index(after[0]) + 1 if after else 0
    page = ids[begin : begin + service.page]
    for name in page:  # time goes by, also for who only lists
        service.batches[name]["looks"] += 1
    ends = {"first_id": page[0] if page else None, "last_id": page[-1] if page else None}
    return (
        envelope
        | {"data": [shown(service.batches[name]) for name in page], **ends}
        | {"has_more": begin + service.page < len(ids)}
    )
