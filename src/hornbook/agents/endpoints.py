"""Asks a model over the network; the library that does it is an extra, imported when used."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

from hornbook.errors import UsageError
from hornbook.model.agents import Answer, Usage

PROVIDERS: Final[dict[str, str | None]] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-compatible": None,
}
"""Each provider, and the environment variable that holds its key by default."""

RATE_LIMIT_SECONDS: Final = 30.0
SERVER_SECONDS: Final = 10.0
INSTALL: Final = 'pip install "hornbook[models]"'


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model that can be asked; calling it asks once, with one deadline and no retry.

    `url` is needed for `openai-compatible` and else the provider's own; `key_variable` names the
    environment variable with the key. A key is read when it is used and never told.
    """

    provider: str
    model: str
    url: str | None = None
    key_variable: str | None = None
    output_tokens: int = 4096
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
        """The answer to the two messages.

        A rate limit, a failing server and one that cannot be reached give `retry_after`; every
        other failure an error.

        Raises:
            UsageError: The extra is not installed, or the key is not set.
        """
        key = self._key()
        library = _Library.load(self.provider)
        try:
            response = asyncio.run(self._request(library, key, (system, context), seconds))
        except library.errors.AgentRunError as problem:
            return self._failed(library, problem, key)
        text = "".join(part.content for part in response.parts if part.part_kind == "text")
        usage = Usage(
            input_tokens=response.usage.input_tokens or 0,
            output_tokens=response.usage.output_tokens or 0,
            steps=1,
        )
        if not text.strip():
            return Answer(error=f"{self.model} gave an empty answer", usage=usage)
        return Answer(text=text, usage=usage)

    def _key(self) -> str | None:
        variable = self.key_variable or PROVIDERS[self.provider]
        if variable is None:
            return None
        key = self.environment.get(variable)
        if not key:
            said = f"the environment variable {variable} is not set"
            raise UsageError(f"{said}: it holds the key of {self.provider}.")
        return key

    async def _request(
        self,
        library: "_Library",
        key: str | None,
        messages: tuple[str, str],
        seconds: float,
    ) -> Any:  # a type of the extra
        model = library.model(self.model, provider=self._provider(library, key))
        parts = [
            library.messages.SystemPromptPart(content=messages[0]),
            library.messages.UserPromptPart(content=messages[1]),
        ]
        async with model:
            return await library.request(
                model,
                [library.messages.ModelRequest(parts=parts)],
                model_settings={
                    "max_retries": 0,
                    "request_timeout": seconds,
                    "timeout": seconds,
                    "max_tokens": self.output_tokens,
                },
            )

    def _provider(self, library: "_Library", key: str | None) -> Any:  # a type of the extra
        if self.provider == "openai-compatible":
            return library.provider(
                "compatible",
                base_url=self.url,
                api_key=key,
                # the name of the limit that every such server knows
                profile={"openai_chat_supports_max_completion_tokens": False},
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
            )
        except ImportError as missing:
            raise UsageError(
                f"asking a model needs the extra `models`: {INSTALL} ({missing})."
            ) from None
