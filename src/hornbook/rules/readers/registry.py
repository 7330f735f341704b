"""Every reader, in the order in which they are asked for a file."""

from collections.abc import Mapping

from hornbook.rules.own_files.plan_files import (
    DecisionRecordReader,
    PlanFileReader,
    RiskReader,
    TaskReader,
)
from hornbook.rules.own_files.review_records import ConventionReader, ReceiptReader, ReviewReader
from hornbook.rules.own_files.run_records import EscalationReader, RunReader
from hornbook.rules.readers.adr import DecisionReader
from hornbook.rules.readers.claude import ClaudeReader, QwenRulesReader
from hornbook.rules.readers.code import CodeReader
from hornbook.rules.readers.continuedev import ColocatedReader, ContinueReader
from hornbook.rules.readers.copilot import CopilotReader
from hornbook.rules.readers.cursor import CODEBUDDY, TRAE, ZENCODER, CursorReader
from hornbook.rules.readers.instruction_files import (
    AGENTS,
    AIDER,
    AMAZON_Q,
    CODE_ASSIST,
    CODE_REVIEW,
    CODEBUDDY_MEMORY,
    CRUSH,
    DUO,
    FIREBASE,
    GEMINI,
    GOOSE,
    KILO,
    KILO_INSTRUCTIONS,
    OPENCODE,
    QODO,
    QWEN,
    REPLIT,
    ROO,
    TABNINE,
    WARP,
    JunieReader,
    MisnamedReader,
    SpecKitReader,
    ZedReader,
)
from hornbook.rules.readers.kiro import KiroReader
from hornbook.rules.readers.listed_files import (
    ArchgateReader,
    ClineReader,
    OpenHandsReader,
    RulesyncReader,
)
from hornbook.rules.readers.own import OwnReader, PlainReader
from hornbook.rules.readers.protocol import Reader
from hornbook.rules.readers.review_bots import (
    CODERABBIT,
    CUBIC,
    DUO_REVIEWS,
    ELLIPSIS,
    GREPTILE,
    OPENSPEC,
    QODO_SETTINGS,
    GreptileReader,
    InstructionSettingsReader,
)
from hornbook.rules.readers.windsurf_augment import (
    AGENTS_RULES,
    AUGMENT,
    JETBRAINS,
    QODER,
    WINDSURF,
)

_FORMATS: tuple[Reader, ...] = (
    ReceiptReader(),
    ReviewReader(),
    RunReader(),
    EscalationReader(),
    ConventionReader(),
    PlanFileReader(),
    TaskReader(),
    DecisionRecordReader(),
    RiskReader(),
    DecisionReader(),
    OwnReader(),
    CursorReader(),
    CopilotReader(),
    ClaudeReader(),
    KiroReader(),
    TRAE,
    ZENCODER,
    CODEBUDDY,
    QwenRulesReader(),
    WINDSURF,
    QODER,
    JETBRAINS,
    ClineReader(),
    ContinueReader(),
    JunieReader(),
    ROO,
    KILO,
    AMAZON_Q,
    TABNINE,
    OpenHandsReader(),
    RulesyncReader(),
    ArchgateReader(),
    SpecKitReader(),
    AUGMENT,
    AGENTS_RULES,
    AGENTS,
    GEMINI,
    QWEN,
    WARP,
    CRUSH,
    GOOSE,
    CODEBUDDY_MEMORY,
    CODE_REVIEW,
    CODE_ASSIST,
    DUO,
    FIREBASE,
    REPLIT,
    ZedReader(),
    QODO,
    GreptileReader(),
    CODERABBIT,
    GREPTILE,
    QODO_SETTINGS,
    DUO_REVIEWS,
    ELLIPSIS,
    CUBIC,
    OPENSPEC,
    InstructionSettingsReader(),
    # Of every other folder a `rules.md` is that of its own tool.
    ColocatedReader(),
)
NATIVE: tuple[Reader, ...] = (*_FORMATS, MisnamedReader(_FORMATS))
"""The readers whose files are found anywhere in a repository, by path."""

READERS: tuple[Reader, ...] = (*NATIVE, CodeReader(), PlainReader())
"""Every reader in the order in which they are asked; the last one takes what is left."""

BY_SETTING: Mapping[str, Reader] = {
    "agents": AGENTS,
    "aider": AIDER,
    "gemini": GEMINI,
    "kilo": KILO_INSTRUCTIONS,
    "opencode": OPENCODE,
    "qwen": QWEN,
}
"""The readers of files that are rules because a tool's settings name them."""
