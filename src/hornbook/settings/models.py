"""The models that can be asked: endpoints, and which of them serve a capability."""

from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

ANSWER_TOKENS = 4096


def web_address(url: str) -> SplitResult | None:
    """The parts of an address of the web; None if a text is none."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # brackets that do not close, or a port that there is not
        return None
    return parts if fits and url.isprintable() and " " not in url else None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model that can be asked: where, by which name, and how much it can read.

    `sweet_spot` is the working context it is best with; 0 means that none is known. `url` is where
    a server of one's own answers, `key_variable` the environment variable that holds its key.
    `output_tokens` is what an answer may have of the window and `call_seconds` how long it may
    take, both 0 for what is usual; `tokens_per_minute` what may be asked in a minute, 0 for any.
    `input_cents` and `output_cents` are the prices of a million tokens in hundredths of `currency`,
    0 where they are not known.
    """

    provider: str
    model: str
    max_tokens: int
    sweet_spot: int = 0
    url: str = ""
    key_variable: str = ""
    output_tokens: int = 0
    call_seconds: int = 0
    tokens_per_minute: int = 0
    input_cents: int = 0
    output_cents: int = 0
    currency: str = "USD"

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What so many tokens cost; None if no price is set."""
        if not self.input_cents and not self.output_cents:
            return None
        return (input_tokens * self.input_cents + output_tokens * self.output_cents) / 100_000_000

    @property
    def host(self) -> str:
        """What `engine.at_once.endpoints` calls it: its host and port, else its provider."""
        parts = web_address(self.url)
        return parts.netloc.rpartition("@")[2] if parts else self.provider

    @property
    def answer_tokens(self) -> int:
        """The most tokens of an answer: as set, else 4096 or a quarter of a smaller window."""
        return self.output_tokens or max(1, min(ANSWER_TOKENS, self.max_tokens // 4))

    def prompt_tokens(self, safety_percent: int) -> int:
        """The most tokens of a prompt that leaves room for an answer and for miscounting."""
        return self.max_tokens - self.answer_tokens - self.max_tokens * safety_percent // 100


@dataclass(frozen=True, slots=True)
class Models:
    """The endpoints by name, and for each capability the endpoints that serve it, best first."""

    endpoints: dict[str, Endpoint]
    capabilities: dict[str, tuple[str, ...]]

    def resolve(self, name: str) -> tuple[str, Endpoint] | None:
        """The endpoint that a capability, or an endpoint's own name, stands for."""
        if name in self.endpoints:
            return name, self.endpoints[name]
        for candidate in self.capabilities.get(name, ()):
            if candidate in self.endpoints:
                return candidate, self.endpoints[candidate]
        return None


SHIPPED_MODELS = Models(
    endpoints={
        "claude-sonnet": Endpoint("anthropic", "claude-sonnet-4-20250514", 200_000),
        "claude-opus": Endpoint("anthropic", "claude-opus-4-20250514", 200_000),
        "gpt": Endpoint("openai", "gpt-4.1", 1_000_000),
        "local": Endpoint("openai-compatible", "local", 32_768),
    },
    capabilities={
        "developing": ("claude-sonnet", "gpt", "local"),
        "reviewing": ("claude-opus", "claude-sonnet", "gpt", "local"),
        "planning": ("claude-opus", "claude-sonnet", "gpt", "local"),
    },
)
CAPABILITIES = ("developing", "reviewing", "planning")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a team says about models: added to, and taken before, the shipped registry."""

    endpoints: dict[str, Endpoint] = field(
        default_factory=dict,
        metadata={"meaning": "Models by name: provider, model, max_tokens and what else is known."},
    )
    capabilities: dict[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata={"meaning": "For developing, reviewing, planning: endpoints, best first."},
    )
