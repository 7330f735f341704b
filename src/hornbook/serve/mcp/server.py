"""The MCP server: tools, resources and a prompt over one workspace, on any transport."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from typing import (  # a server without lifespan state has Any
    Any,  # a server without lifespan state has Any
    TypeVar,
)

from fastapi import Response
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from starlette.types import Receive, Scope, Send

from hornbook.errors import HornbookError
from hornbook.serve.access.callers import NOBODY
from hornbook.serve.http.problems import HttpRefusal, Redact, unchanged
from hornbook.serve.http.request import request_context_of
from hornbook.serve.mcp import prompts, resources
from hornbook.serve.mcp.tools import TOOLS, Tool
from hornbook.version import __version__
from hornbook.workspace import Workspace

Asking = ServerRequestContext[Any]
Opened = Callable[[], AbstractContextManager[Workspace]]
"""Gives the workspace, opened on one version of the graph, for as long as a request needs it."""
Answer = TypeVar("Answer")

INSTRUCTIONS = (
    "Hornbook keeps this repository's rules (SOPs) and decisions and says which of them bind a "
    "file. Before you edit files, call rules_for_files, and read_rules for the texts. Before you "
    "start a task, call size_task. To review a change, call review_context, or use the prompt "
    "review_change: it gives every rule whole or refuses and says how to split; never review "
    "from part of the rules."
)
MOST_AT_ONCE = 8
FOREVER = CacheHint(ttl_ms=3_600_000, scope="public")


def build_server(
    opened: Opened, *, redact: Redact = unchanged, most_at_once: int = MOST_AT_ONCE
) -> Server[Any]:
    """The server; every answer comes from one version of the graph, the newest one.

    `said` puts refusals into the words for those who ask. At most `most_at_once` questions are
    worked on at a time, each in a thread of its own, so that a long one holds up no other.
    """
    handlers = _Handlers(opened, most_at_once, redact)
    server: Server[Any] = Server(
        "hornbook",
        version=__version__,
        title="Hornbook",
        description="The referee for coding agents: which rules bind a change, whole, and why.",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": FOREVER,
            "prompts/list": FOREVER,
            "resources/templates/list": FOREVER,
        },
        get_tool_input_schema=INPUT_SCHEMAS.get,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    return server


_BY_TOOL = (
    (re.compile(r"`hornbook query --text '[^`]*'`"), "search_entities"),
    (re.compile(r"`hornbook show[^`]*`"), "get_entity"),
    (re.compile(r"`hornbook why[^`]*`"), "rules_for_files"),
    (re.compile(r"`hornbook plans(?: show[^`]*)?`"), "plan_status"),
    (re.compile(r"`hornbook size[^`]*`"), "size_task"),
    (re.compile(r"`hornbook (?:context review|review prepare)[^`]*`"), "review_context"),
    (re.compile(r"`hornbook review check[^`]*`"), "check_review"),
    (re.compile(r"see `hornbook match`"), "give paths, or globs as in `src/**/*.py`"),
)


def in_tools(message: str) -> str:
    """A message whose remedy is a tool where there is one: an agent may have no shell."""
    for command, tool in _BY_TOOL:
        message = command.sub(tool, message)
    return message


def compact(value: object) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def described(tool: Tool) -> types.Tool:
    """A tool as the protocol lists it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=INPUT_SCHEMAS[tool.name],
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


BY_NAME = {tool.name: tool for tool in TOOLS}
INPUT_SCHEMAS = {tool.name: tool.input_schema for tool in TOOLS}
_TOOLS = types.ListToolsResult(tools=[described(tool) for tool in TOOLS])
_TEMPLATES = types.ListResourceTemplatesResult(
    resource_templates=[
        types.ResourceTemplate(
            uri_template=template.address,
            name=template.scheme,
            title=template.title,
            description=template.description,
            mime_type="text/markdown",
        )
        for template in resources.TEMPLATES
    ]
)
_PROMPTS = types.ListPromptsResult(
    prompts=[
        types.Prompt(
            name=prompts.REVIEW_CHANGE,
            title="Review a change",
            description=prompts.DESCRIPTION,
            arguments=[
                types.PromptArgument(name=each.name, description=each.description, required=False)
                for each in prompts.ARGUMENTS
            ],
        )
    ]
)


class _Unanswered(Exception):  # it becomes a result or an error of the protocol
    """Why there is no answer, in the words for those who ask."""


class _Handlers:
    """What answers each kind of request."""

    def __init__(self, opened: Opened, most_at_once: int, redact: Redact) -> None:
        self._opened = opened
        self._redact = redact
        self._threads = ThreadPoolExecutor(most_at_once, thread_name_prefix="mcp")

    async def _ask(self, question: Callable[[Workspace], Answer]) -> Answer:
        """Ask the workspace in a thread: the loop stays free, however long the answer takes.

        Raises:
            _Unanswered: There is no answer; says why, and the remedy.
        """

        def asked() -> Answer:
            with self._opened() as work:
                return question(work)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, asked)
        except HornbookError as problem:
            raise _Unanswered(in_tools(self._redact(str(problem)))) from problem
        except OSError as problem:
            where = f"{problem.filename}: " if problem.filename else ""
            text = f"{where}{problem.strerror or problem}: check the path."
            raise _Unanswered(self._redact(text)) from problem

    async def _ask_or_refuse(
        self, question: Callable[[Workspace], Answer], data: object = None
    ) -> Answer:
        """The same where the protocol has no other way to refuse than an error.

        Raises:
            MCPError: There is no answer; says why, and the remedy.
        """
        try:
            return await self._ask(question)
        except _Unanswered as problem:
            raise MCPError(INVALID_PARAMS, str(problem), data) from problem

    async def list_tools(
        self, _asking: Asking, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Every tool, on one page."""
        _refuse_cursor(params)
        return _TOOLS

    async def call_tool(
        self, asking: Asking, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """What the tool answers, or an error that the model can act on."""
        tool = BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"no tool {params.name!r}: {', '.join(BY_NAME)}.")
        refusal = _scope_refusal(asking, tool)
        if refusal is not None:
            return _tool_error(refusal.detail)
        arguments: Mapping[str, Any] = params.arguments or {}
        try:
            answer = await self._ask(lambda work: tool.call(work, arguments))
        except _Unanswered as problem:
            return _tool_error(str(problem))
        text = types.TextContent(text=compact(answer))
        return types.CallToolResult(content=[text], structured_content=answer)

    async def list_resources(
        self, _asking: Asking, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """A page of the rules, decisions and plans."""
        cursor = params.cursor if params is not None else None
        found = await self._ask_or_refuse(lambda work: resources.resources(work, cursor))
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=listed.address,
                    name=listed.entry.id,
                    title=listed.entry.title,
                    description=listed.entry.summary or None,
                    mime_type="text/markdown",
                )
                for listed in found.resources
            ],
            next_cursor=found.next_cursor,
        )

    async def list_templates(
        self, _asking: Asking, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The kinds of resources, on one page."""
        _refuse_cursor(params)
        return _TEMPLATES

    async def read_resource(
        self, _asking: Asking, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """A resource, whole."""
        address = params.uri
        text = await self._ask_or_refuse(
            lambda work: resources.read(work, address), {"uri": address}
        )
        held = types.TextResourceContents(uri=address, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[held])

    async def list_prompts(
        self, _asking: Asking, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """The prompt."""
        _refuse_cursor(params)
        return _PROMPTS

    async def get_prompt(
        self, _asking: Asking, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """The reviewer's prompt, whole."""
        _refuse_unknown_prompt(params.name)
        given = params.arguments or {}
        text = await self._ask_or_refuse(lambda work: prompts.review_change(work, given))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompts.DESCRIPTION, messages=[message])

    async def complete(
        self, _asking: Asking, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """What can stand for an argument or a variable."""
        ref, name, typed = params.ref, params.argument.name, params.argument.value
        if isinstance(ref, types.PromptReference):
            _refuse_unknown_prompt(ref.name)
            found = await self._ask_or_refuse(lambda work: prompts.completions(work, name, typed))
        else:
            address = ref.uri
            found = await self._ask_or_refuse(
                lambda work: resources.completions(work, address, typed)
            )
        most = resources.MOST_COMPLETIONS
        return types.CompleteResult(
            completion=types.Completion(
                values=found[:most], total=len(found), has_more=len(found) > most
            )
        )


def _scope_refusal(asking: Asking, tool: Tool) -> HttpRefusal | None:
    """Why whoever asks over HTTP may not call a tool; over stdin it is who started us."""
    if asking.request is None:
        return None
    caller = request_context_of(asking.request.scope).caller or NOBODY
    return caller.refusal(tool.scope)


def _tool_error(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


def _refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, f"no page behind {params.cursor!r}: there is one page.")


def _refuse_unknown_prompt(name: str) -> None:
    if name != prompts.REVIEW_CHANGE:
        raise MCPError(INVALID_PARAMS, f"no prompt {name!r}: there is {prompts.REVIEW_CHANGE}.")


# The gateway has looked at Host and Origin by the rules of the whole server.
_CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class McpHttp:
    """An ASGI application for exactly one address; `running` must surround its requests.

    It keeps no sessions: nothing here tells a client anything unasked, so that a session would
    only be memory that a stranger can fill, and a restart or a second worker would lose it.
    """

    def __init__(self, server: Server[Any], most_bytes: int) -> None:
        self._manager = StreamableHTTPSessionManager(
            app=server,
            json_response=True,
            stateless=True,
            security_settings=_CHECKED_BEFORE,
            max_request_body_size=most_bytes,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What the application's lifespan must hold open; once for each instance."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST; there is no stream to GET and no session to DELETE."""
        if scope["method"] != "POST":
            refused = Response("MCP takes POST only.\n", 405, headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        # Some HTTP parsers leave blanks behind header values, which MCP compares to the body.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await self._manager.handle_request({**scope, "headers": headers}, receive, send)
