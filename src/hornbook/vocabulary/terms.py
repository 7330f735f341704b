"""The fixed sets of values that documents are described with."""

from enum import StrEnum


class Category(StrEnum):
    """What kind of document a source is."""

    SOP = "sop"
    SPEC = "spec"
    DATASHEET = "datasheet"
    REFERENCE = "reference"
    API = "api"
    DECISION = "decision"
    CONVENTION = "convention"
    PLAN = "plan"
    TASK = "task"
    RISK = "risk"
    RECEIPT = "receipt"
    REVIEW = "review"
    RUN = "run"
    ESCALATION = "escalation"
    CODE = "code"


class Severity(StrEnum):
    """What a violation of a rule does to a review."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Scope(StrEnum):
    """Which judgement a rule serves: the plan, the code, or both."""

    PLAN = "plan"
    CODE = "code"
    ALL = "all"


class Activation(StrEnum):
    """How a rule comes to bind a file."""

    ALWAYS = "always"
    GLOB = "glob"
    DIR = "dir"
    MODEL = "model"
    MANUAL = "manual"
    NEVER = "never"
    UNKNOWN = "unknown"

    @property
    def enforced(self) -> bool:
        """Whether a deterministic engine can decide that the rule binds."""
        return self in ENFORCED


ENFORCED = frozenset({Activation.ALWAYS, Activation.GLOB, Activation.DIR})


class Level(StrEnum):
    """How bad a problem of a document is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Standing(StrEnum):
    """What a person made of a convention; nobody looked at a candidate yet."""

    CANDIDATE = "candidate"
    PROMOTED = "promoted"
    RETIRED = "retired"
