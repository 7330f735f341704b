"""Where a workspace keeps what: all paths below `.hornbook/`."""

from dataclasses import dataclass
from pathlib import Path

IGNORED = """\
# Written by Hornbook. Local to one machine: the disposable index, past texts, logs. Not committed.
/store/
/objects/
/worktrees/
/spool/
/embedded/
/logs/
/quarantine/
/active.json
*.db
*.db-*
# Secrets of `hornbook serve`.
/tokens
"""


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a workspace."""

    root: Path

    @property
    def state(self) -> Path:
        """Everything of ours."""
        return self.root / ".hornbook"

    @property
    def store(self) -> Path:
        """The index: disposable."""
        return self.state / "store"

    @property
    def objects(self) -> Path:
        """Past texts and the journal."""
        return self.state / "objects"

    @property
    def records(self) -> Path:
        """What Hornbook did, one file each: receipts, reviews, conventions."""
        return self.state / "records"

    @property
    def journal(self) -> Path:
        """What ingests saw happen."""
        return self.objects / "journal.jsonl"

    @property
    def seen(self) -> Path:
        """The sizes and times of the files at the last ingest."""
        return self.store / "seen"

    @property
    def gate_logs(self) -> Path:
        """What gates printed, whole."""
        return self.state / "logs" / "gates"

    def prepare(self) -> None:
        """Make the state folder and keep git away from what is derived."""
        self.state.mkdir(parents=True, exist_ok=True)
        ignore = self.state / ".gitignore"
        if not ignore.exists():
            ignore.write_text(IGNORED, encoding="utf-8")
