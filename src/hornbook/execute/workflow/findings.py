"""What is wrong with a definition, and the notebook in which a reader keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hornbook.assemble.settings import remedy
from hornbook.execute.workflow.json_reading import Kind, Node, below


@dataclass(frozen=True, slots=True)
class WorkflowFinding:
    """Something wrong with a definition: `path` names the value, `line` its place in the file."""

    code: str
    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Key:
    """A member that an object may have; None is any kind."""

    kind: Kind | None
    required: bool = False


@dataclass(slots=True)
class Notebook:
    """Collects findings while a definition is read, so that all are told at once."""

    errors: list[WorkflowFinding] = field(default_factory=list)
    warnings: list[WorkflowFinding] = field(default_factory=list)

    def wrong(self, code: str, path: str, line: int, message: str) -> None:
        """Notes an error."""
        self.errors.append(WorkflowFinding(code, path, line, message))

    def doubtful(self, code: str, path: str, line: int, message: str) -> None:
        """Notes a warning."""
        self.warnings.append(WorkflowFinding(code, path, line, message))

    def members(self, node: Node, path: str, keys: Mapping[str, Key]) -> Mapping[str, Node]:
        """The members of an object that are known and of the right kind; the rest is noted."""
        good = {}
        for name, member in node.members.items():
            place = below(path, name)
            if name not in keys:
                message = f"`{name}` is not known here: {remedy(name, keys)}"
                self.wrong(f"unknown_key:{name}", place, node.key_lines[name], message)
            elif self.of_kind(member, place, name, keys[name].kind):
                good[name] = member
        for name, key in keys.items():
            if key.required and name not in node.members:
                message = f"`{name}` is missing: add it."
                self.wrong(f"missing_key:{name}", path, node.line, message)
        return good

    def of_kind(self, node: Node, path: str, name: str, kind: Kind | None) -> bool:
        """Whether a value is of a kind; noted if not."""
        if kind is None or node.kind is kind:
            return True
        message = f"`{name}` is of kind {node.kind}: write one of kind {kind}."
        self.wrong(f"bad_value:{name}", path, node.line, message)
        return False
