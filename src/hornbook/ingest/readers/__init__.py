"""One reader for each format in which teams already write rules and decisions."""

from hornbook.ingest.readers.adr import DecisionReader
from hornbook.ingest.readers.agents import AGENTS, GEMINI
from hornbook.ingest.readers.claude import ClaudeReader
from hornbook.ingest.readers.cline import ClineReader
from hornbook.ingest.readers.code import CodeReader
from hornbook.ingest.readers.continuedev import ContinueReader
from hornbook.ingest.readers.copilot import CopilotReader
from hornbook.ingest.readers.cursor import CursorReader
from hornbook.ingest.readers.fixed import JunieReader, RooReader
from hornbook.ingest.readers.kiro import KiroReader
from hornbook.ingest.readers.own import OwnReader
from hornbook.ingest.readers.plain import PlainReader
from hornbook.ingest.readers.plans import (
    DecisionRecordReader,
    PlanReader,
    RiskReader,
    TaskReader,
)
from hornbook.ingest.readers.protocol import Reader
from hornbook.ingest.readers.records import ReceiptReader
from hornbook.ingest.readers.review_records import ConventionReader, ReviewReader
from hornbook.ingest.readers.run_records import EscalationReader, RunReader
from hornbook.ingest.readers.triggers import AUGMENT, WINDSURF

__all__ = ["NATIVE", "READERS"]

NATIVE: tuple[Reader, ...] = (
    ReceiptReader(),
    ReviewReader(),
    RunReader(),
    EscalationReader(),
    ConventionReader(),
    PlanReader(),
    TaskReader(),
    DecisionRecordReader(),
    RiskReader(),
    DecisionReader(),
    OwnReader(),
    CursorReader(),
    CopilotReader(),
    ClaudeReader(),
    KiroReader(),
    WINDSURF,
    ClineReader(),
    ContinueReader(),
    JunieReader(),
    RooReader(),
    AUGMENT,
    AGENTS,
    GEMINI,
)
"""The readers whose files are found anywhere in a repository, by path."""

READERS: tuple[Reader, ...] = (*NATIVE, CodeReader(), PlainReader())
"""Every reader in the order in which they are asked; the last one takes what is left."""
