"""An upstream that draws another answer each time, and the endpoint in front of it, both on the loopback address."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter, defaultdict
from random import Random

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bonwise.serving.app import ChatEndpoint
from bonwise.serving.config import read_config
from bonwise.serving.server import bound_socket, serve_here

KEY = "sk-of-the-upstream-alone"


class DrawingUpstream:
    """A chat service whose answers to one prompt all have another length.

    Attributes
    ----------
    drawn : mapping of str to list of str
        Texts by prompt, all that were paid.
    tokens : collections.Counter
        What was paid: input and output.
    authorizations : set of str
        Headers that came in.
    """

    def __init__(self, *, honours_n=True, latency=0.0, faults=0.0, seed=1):
        self.honours_n, self.latency, self.faults = honours_n, latency, faults
        self.drawn, self.tokens, self.authorizations = defaultdict(list), Counter(), set()
        self.refuses_n, self.refuse, self.bodies, self.calls, self.given_up = False, None, [], 0, 0
        self.at_once = self.most_at_once = 0
        self._random = Random(seed)  # noqa: S311
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])

    async def _answer(self, request: Request):
        body = await request.json()
        self.calls += 1
        self.bodies.append(body)
        self.authorizations.add(request.headers.get("authorization"))
        if self.refuses_n and "n" in body:
            said = {"message": "Unsupported parameter: 'n'", "code": "unsupported_parameter", "param": "n"}
            return JSONResponse({"error": said}, 400)
        if self.refuse is not None:
            status, said = self.refuse
            return JSONResponse({"error": said}, status)
        if self._random.random() < self.faults:
            return self._fault()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.latency)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        finally:
            self.at_once -= 1
        prompt = str(body["messages"][-1]["content"])
        n = body.get("n", 1) if self.honours_n else 1
        texts = [self._draw(prompt) for _ in range(n)]
        usage = {
            "prompt_tokens": 7,
            "completion_tokens": sum(map(len, texts)),
            "total_tokens": 7 + sum(map(len, texts)),
            "completion_tokens_details": {"reasoning_tokens": 2 * n},
        }
        self.tokens += Counter(input=7, output=usage["completion_tokens"])
        choices = [
            {"index": at, "message": self._message(body, text), "finish_reason": self._finish(body), "logprobs": None}
            for at, text in enumerate(texts)
        ]
        return JSONResponse(
            {
                "id": f"chatcmpl-{self.calls}",
                "object": "chat.completion",
                "created": 1,
                "model": "m-2026",
                "choices": choices,
                "usage": usage,
                "service_tier": "default",
            }
        )

    def _draw(self, prompt):
        before = {len(text) for text in self.drawn[prompt]}
        length = next(one for one in iter(lambda: self._random.randint(1, 4000), None) if one not in before)
        self.drawn[prompt].append("w" * length)
        return "w" * length

    def _message(self, body, text):
        if body.get("tools"):
            call = {"name": "paint", "arguments": json.dumps({"colour": text})}
            calls = [{"id": f"call_{len(text)}", "type": "function", "function": call}]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        if body.get("response_format"):
            return {"role": "assistant", "content": json.dumps({"colour": text})}
        return {"role": "assistant", "content": text, "refusal": None}

    def _finish(self, body):
        return "tool_calls" if body.get("tools") else "stop"

    def _fault(self):
        kind = self._random.randrange(3)
        if kind == 0:
            return JSONResponse({"error": {"message": "busy"}}, 503)
        if kind == 1:
            return JSONResponse({"error": {"message": "slow down"}}, 429, headers={"retry-after-ms": "20"})
        return Response(b'{"choices": [{"mess', media_type="application/json")

    def best(self, prompt):
        """Return the longest text that was drawn for a prompt."""
        return max(self.drawn[prompt], key=len)


@contextlib.contextmanager
def in_thread(app):
    """Serve an application from a thread of its own; yield its address."""
    door = bound_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none", backlog=2048))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextlib.contextmanager
def served(folder, text, run=None):
    """Serve the endpoint of a file of settings from a thread; yield the endpoint and its address."""
    path = folder / "serve.toml"
    path.write_text(text, encoding="utf-8")
    config = read_config(path)
    endpoint = ChatEndpoint(config, run)
    door = bound_socket("127.0.0.1", 0)
    stop = threading.Event()
    codes = []
    work = lambda: codes.append(  # noqa: E731
        serve_here(endpoint, config.limits, door, each_second=lambda: not stop.is_set())
    )
    port = door.getsockname()[1]
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield endpoint, f"http://127.0.0.1:{port}"
    finally:
        stop.set()
        thread.join()
        assert codes == [0]
