"""Which framework and which server take in reports fastest: `python benchmarks/frameworks.py [--seconds S]`.

Each combination reads a body of 300 bytes, parses it as JSON and answers 202 with a small JSON object, in one process.
The load comes from one process with 32 connections on the loopback interface. Rounds are interleaved: other work
may share the machine; what is shown is the median, and its ratio to the fastest.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
from typing import Any

from load import free_port, request_bytes, run_load

BODY = json.dumps({"id": "0" * 32, "reports": {f"question-{i}": i for i in range(15)}}).encode()


async def bare(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """ASGI without a framework."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": message["type"] + ".complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    message = await receive()
    body = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    answer = json.dumps({"accepted": len(json.loads(body)) // 2}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 202, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


def starlette() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def reports(request: Request) -> JSONResponse:
        return JSONResponse({"accepted": len(json.loads(await request.body())) // 2}, 202)

    return Starlette(routes=[Route("/v1/surveys/{survey}/reports", reports, methods=["POST"])])


def fastapi() -> Any:
    from fastapi import FastAPI, Request

    app = FastAPI()

    async def reports(survey: str, request: Request) -> dict[str, int]:
        return {"accepted": len(json.loads(await request.body())) // 2}

    reports.__annotations__["request"] = Request
    app.post("/v1/surveys/{survey}/reports", status_code=202)(reports)
    return app


def litestar() -> Any:
    from litestar import Litestar, Request, post

    async def reports(survey: str, request: Request[Any, Any, Any]) -> dict[str, int]:
        return {"accepted": len(json.loads(await request.body())) // 2}

    reports.__annotations__.update(request=Request, survey=str)
    return Litestar([post("/v1/surveys/{survey:str}/reports", status_code=202)(reports)])


APPS = {"bare": lambda: bare, "starlette": starlette, "fastapi": fastapi, "litestar": litestar}
SERVERS = ("uvicorn", "granian")


def serve(app: str, server: str, port: int) -> None:
    """Run one combination in this process until it is told to end."""
    if server == "uvicorn":
        import uvicorn

        uvicorn.run(APPS[app](), port=port, log_level="error", access_log=False)
    else:
        import asyncio

        from granian.constants import Interfaces
        from granian.server.embed import Server

        asyncio.run(Server(APPS[app](), port=port, interface=Interfaces.ASGI, log_enabled=False).serve())


def measure(app: str, server: str, seconds: float) -> float:
    port = free_port()
    process = subprocess.Popen([sys.executable, __file__, "--serve", app, server, str(port)])
    try:
        request = request_bytes("/v1/surveys/s/reports", BODY)
        return run_load(port, lambda: request, seconds, connections=32).rate
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", nargs=3)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve[0], arguments.serve[1], int(arguments.serve[2]))
        return
    pairs = [(app, server) for app in APPS for server in SERVERS
             if all(importlib.util.find_spec(name) for name in (app, server) if name != "bare")]  # fmt: skip
    rates: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    for _ in range(arguments.rounds):
        for pair in pairs:
            rates[pair].append(measure(*pair, arguments.seconds))
    medians = {pair: statistics.median(found) for pair, found in rates.items()}
    best = max(medians.values())
    print(f"{'framework':12}{'server':10}{'requests/s':>12}{'ratio':>8}")
    for (app, server), rate in sorted(medians.items(), key=lambda entry: -entry[1]):
        print(f"{app:12}{server:10}{rate:>12,.0f}{rate / best:>8.2f}")


if __name__ == "__main__":
    main()
