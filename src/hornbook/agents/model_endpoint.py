"""Asks a model over the network; the library that does it is an extra, imported when used."""

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

from hornbook.agents.assignment import Answer, Usage
from hornbook.errors import UsageError
from hornbook.settings.models import ANSWER_TOKENS

PROVIDERS: Final[dict[str, str | None]] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-compatible": None,
}
"""Each provider, and the environment variable that holds its key by default."""

RATE_LIMIT_SECONDS: Final = 30.0
SERVER_SECONDS: Final = 10.0
REFUSALS: Final = frozenset({400, 422, 501})
"""What a server answers that knows no schemas, or not all that one says."""
ANSWER: Final = "answer"
"""What the schema of an answer is called towards the server."""
INSTALL: Final = 'pip install "hornbook[models]"'


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model that can be asked; calling it asks once, with one deadline and no retry.

    `url` is needed for `openai-compatible` and else the provider's own; `key_variable` names the
    environment variable with the key. A key is read when it is used and never told. `schema` is
    a JSON schema that the server is told to hold the answer to, where it and the model can.
    """

    provider: str
    model: str
    url: str | None = None
    key_variable: str | None = None
    output_tokens: int = ANSWER_TOKENS
    schema: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            near = get_close_matches(self.provider, PROVIDERS, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            known = ", ".join(PROVIDERS)
            raise UsageError(f"no model provider {self.provider!r}: {hint}Use one of {known}.")
        if self.provider == "openai-compatible" and not self.url:
            raise UsageError(f"the endpoint of model {self.model!r} needs a url.")

    def __call__(self, system: str, context: str, seconds: float) -> Answer:
        """The answer to the two messages; to the second alone if the first is empty.

        A rate limit, a failing server and one that cannot be reached give `retry_after`; every
        other failure an error. A server that refuses the schema is asked without it, in what is
        left of the time; the answer's notes say so.

        Raises:
            UsageError: The extra is not installed, or the key is not set.
        """
        key = self._key()
        library = _Library.load(self.provider)
        deadline = time.monotonic() + seconds
        try:
            return asyncio.run(self._asked(library, key, (system, context), seconds))
        except (library.errors.AgentRunError, library.errors.UserError) as problem:
            if not self.schema or not _refuses(library, problem):
                return self._failed(library, problem, key)
            refused = self._failed(library, problem, key)
        left = max(0.1, deadline - time.monotonic())
        answer = replace(self, schema="")(system, context, left)
        note = f"asked without the schema of the answer, which was refused: {refused.error}"
        return replace(answer, notes=(note, *answer.notes))

    def _key(self) -> str | None:
        variable = self.key_variable or PROVIDERS[self.provider]
        if variable is None:
            return None
        key = self.environment.get(variable)
        if not key:
            said = f"the environment variable {variable} is not set"
            raise UsageError(f"{said}: it holds the key of {self.provider}.")
        return key

    async def _asked(
        self,
        library: "_Library",
        key: str | None,
        messages: tuple[str, str],
        seconds: float,
    ) -> Answer:
        model = library.model(self.model, provider=self._provider(library, key))
        system, context = messages
        parts = [library.messages.SystemPromptPart(content=system)] if system.strip() else []
        parts.append(library.messages.UserPromptPart(content=context))
        form, notes = self._form(library, model)
        async with model:
            response = await library.request(
                model,
                [library.messages.ModelRequest(parts=parts)],
                model_settings={
                    "max_retries": 0,
                    "request_timeout": seconds,
                    "timeout": seconds,
                    "max_tokens": self.output_tokens,
                },
                model_request_parameters=form,
            )
        return replace(self._answer(response), notes=notes)

    # the model and what is made for it are types of the extra
    def _form(self, library: "_Library", model: Any) -> tuple[Any, tuple[str, ...]]:
        """What the server is told of the answer's form, and what a person is told of it."""
        if not self.schema:
            return None, ()
        if not model.profile.get("supports_json_schema_output", False):
            return None, (f"{self.model} cannot be held to a schema: asked without it",)
        wanted = library.output(json_schema=json.loads(self.schema), name=ANSWER)
        return library.parameters(output_mode="native", output_object=wanted), ()

    def _answer(self, response: Any) -> Answer:  # a type of the extra
        text = "".join(part.content for part in response.parts if part.part_kind == "text")
        usage = Usage(
            input_tokens=response.usage.input_tokens or 0,
            output_tokens=response.usage.output_tokens or 0,
            steps=1,
        )
        if not text.strip():
            return Answer(error=f"{self.model} gave an empty answer", usage=usage)
        return Answer(text=text, usage=usage, cut=response.finish_reason == "length")

    def _provider(self, library: "_Library", key: str | None) -> Any:  # a type of the extra
        if self.provider == "openai-compatible":
            return library.provider(
                "compatible",
                base_url=self.url,
                api_key=key,
                profile={
                    # the name of the limit that every such server knows
                    "openai_chat_supports_max_completion_tokens": False,
                    # it is the server that holds an answer to a schema, whatever the model is
                    "supports_json_schema_output": True,
                },
            )
        return library.provider(base_url=self.url, api_key=key)

    def _failed(self, library: "_Library", problem: Exception, key: str | None) -> Answer:
        errors = library.errors
        told = f"{self.model}: {problem}"
        if key:
            told = told.replace(key, "***")
        told = told[:1000]
        timed_out = isinstance(problem, errors.ModelRequestTimeout | errors.ModelTimeoutError)
        if timed_out:
            return Answer(error=told)
        if isinstance(problem, errors.ModelHTTPError):
            return Answer(error=told, retry_after=_wait(problem.status_code, problem.retry_after))
        if isinstance(problem, errors.ModelConnectionError):
            return Answer(error=told, retry_after=SERVER_SECONDS)
        return Answer(error=told)


def _refuses(library: "_Library", problem: Exception) -> bool:
    """Whether a server may have refused the form of the answer, and not the request as such."""
    errors = library.errors
    # not every server has a code for a prompt that is too long, but all say it in this word
    if isinstance(problem, errors.ModelContextWindowExceededError) or "context" in str(problem):
        return False
    if isinstance(problem, errors.UserError):
        return True
    return isinstance(problem, errors.ModelHTTPError) and problem.status_code in REFUSALS


def _wait(status: int, told: float | None) -> float | None:
    """How long to wait after an answer with this status; None if waiting is no use."""
    if status == 429:
        return told if told is not None else RATE_LIMIT_SECONDS
    if status >= 500:
        return told if told is not None else SERVER_SECONDS
    return None


@dataclass(frozen=True, slots=True)
class _Library:
    """The parts of the extra that are used; untyped, as it may not be there."""

    errors: Any
    messages: Any
    request: Any
    model: Any
    provider: Any
    parameters: Any
    output: Any

    @classmethod
    def load(cls, provider: str) -> "_Library":
        family, model, home, provides = {
            "anthropic": ("anthropic", "AnthropicModel", "anthropic", "AnthropicProvider"),
            "openai": ("openai", "OpenAIChatModel", "openai", "OpenAIProvider"),
            "openai-compatible": (
                "openai",
                "OpenAIChatModel",
                "openai_compatible",
                "OpenAICompatibleProvider",
            ),
        }[provider]
        try:
            return cls(
                errors=import_module("pydantic_ai.exceptions"),
                messages=import_module("pydantic_ai.messages"),
                request=import_module("pydantic_ai.direct").model_request,
                model=getattr(import_module(f"pydantic_ai.models.{family}"), model),
                provider=getattr(import_module(f"pydantic_ai.providers.{home}"), provides),
                parameters=import_module("pydantic_ai.models").ModelRequestParameters,
                output=import_module("pydantic_ai.output").OutputObjectDefinition,
            )
        except ImportError as missing:
            raise UsageError(
                f"asking a model needs the extra `models`: {INSTALL} ({missing})."
            ) from None
