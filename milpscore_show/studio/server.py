"""The page: one desk on 127.0.0.1, behind a token, nothing loaded from anywhere else."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from milpscore.core.errors import MilpscoreError, MissingDependencyError, listing
from milpscore.core.reading import parsed
from milpscore_show.studio.hub import Hub

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"

MOST_BYTES, MOST_OF_SESSION = 64_000, 16_000_000
"""Limits on the bytes of a request, and of a session that is opened."""

_BEAT = 15.0
"""Seconds after which a page that listens hears that the server is there."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_ASSETS = {"studio.js": "text/javascript", "studio.css": "text/css"}


class _Ask(msgspec.Struct, forbid_unknown_fields=True):
    what: str


def asset(name: str) -> str:
    """A file of the page."""
    return (files("milpscore_show.studio") / "page" / name).read_text(encoding="utf-8")


async def events(hub: Hub, beat: float = _BEAT) -> AsyncIterator[str]:
    """What happens, as server-sent events, until nobody reads on."""
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue[str]()

    def tell(event: dict[str, Any]) -> None:
        # the loop may be closed by the time a search ends
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(waiting.put_nowait, json.dumps(event))

    leave = hub.listen(tell)
    try:
        yield 'data: {"kind": "changed"}\n\n'
        while True:
            try:
                yield f"data: {await asyncio.wait_for(waiting.get(), beat)}\n\n"
            except TimeoutError:
                yield ": still here\n\n"
    finally:
        leave()


def require_web() -> None:
    """MissingDependencyError where Starlette or uvicorn is not installed."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"the studio's page needs {listing(missing)}: pip install 'milpscore[studio]'"
        )


def application(hub: Hub, token: str) -> Starlette:
    """The page of a hub, for whoever has the token."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    def refused(code: int, said: str) -> Response:
        return JSONResponse({"error": said}, code, _HEADERS)

    def guarded(answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """Only with the token: in the address for what is read, in a header for what is done."""

        async def checked(request: Request) -> Response:
            given = request.headers.get("x-token", "")
            if request.method == "GET":
                given = given or request.query_params.get("token", "")
            if not hmac.compare_digest(given.encode(), token.encode()):
                return refused(403, "the address lacks the token: open the one that was printed")
            try:
                made: Response = await answer(request)
            except MilpscoreError as error:
                return refused(400, str(error))
            return made

        return checked

    async def absent(request: Request, error: Exception) -> Response:
        """Say in JSON that there is no such page or method."""
        code = getattr(error, "status_code", 404)
        return refused(code, "there is no such page, or not by this method")

    async def failed(request: Request, error: Exception) -> Response:
        """Answer in JSON where the studio itself fails; the server logs the error."""
        return refused(500, f"the studio failed ({type(error).__name__}: {error}): undo the edit")

    async def body_of(request: Request, most: int) -> bytes:
        """The request's content, bounded."""
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most:
                raise MilpscoreError(f"a request has at most {most:,} bytes")
        return content

    async def page(request: Request) -> Response:
        body = asset("desk.html")
        whole = asset("index.html").replace("{{ body }}", body).replace("{{ token }}", token)
        return Response(whole, 200, _HEADERS, "text/html")

    async def piece(request: Request) -> Response:
        name = request.path_params["name"]
        if name in _ASSETS:
            return Response(asset(name), 200, _HEADERS, _ASSETS[name])
        return refused(404, "there is no such page")

    def read(answer: Callable[[], Any]) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(answer), 200, _HEADERS)

        return guarded(answered)

    def done(
        do: Callable[[bytes], Any], most: int = MOST_BYTES, code: int = 200
    ) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            found = await run_in_threadpool(do, await body_of(request, most))
            return JSONResponse(found or {}, code, _HEADERS)

        return guarded(answered)

    async def stream(request: Request) -> Response:
        return StreamingResponse(events(hub), 200, _HEADERS, "text/event-stream")

    async def export(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in hub.files:
            return refused(404, "this export is gone: make it again")
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(hub.files[name], 200, {**_HEADERS, **headers}, "application/zip")

    return Starlette(
        routes=[
            Route("/", guarded(page)),
            Route("/state", read(hub.state)),
            Route("/events", guarded(stream)),
            Route("/act", done(hub.act), methods=["POST"]),
            Route("/session", read(hub.session)),
            Route("/open", done(hub.open, MOST_OF_SESSION), methods=["POST"]),
            Route(
                "/ask",
                done(lambda sent: hub.ask(parsed(sent, _Ask, "the request").what), code=202),
                methods=["POST"],
            ),
            Route("/stop", done(lambda _: hub.stop(), code=202), methods=["POST"]),
            Route("/files/{name}", guarded(export)),
            Route("/{name}", guarded(piece)),
        ],
        exception_handlers={HTTPException: absent, Exception: failed},
        # a page elsewhere whose name leads here must not read this one
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def serve(hub: Hub, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
    """Serve a hub's page until Ctrl-C; ``ready`` gets its address. 0 takes any free port."""
    import uvicorn

    token = secrets.token_urlsafe(24)
    app = application(hub, token)

    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((HOST, port))
        own.listen()  # who comes before the server does waits
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=1
        )
        if ready is not None:
            ready(f"http://{HOST}:{own.getsockname()[1]}/?token={token}")
        try:
            uvicorn.Server(config).run(sockets=[own])
        finally:
            hub.close()
