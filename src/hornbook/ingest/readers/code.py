"""Source files: what they declare and import, without their text."""

from pathlib import PurePosixPath

from hornbook.ingest.code import summarise
from hornbook.ingest.code.languages import grammar_of
from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.protocol import Reading, SourceFile
from hornbook.model import Activation, Category, Link, Scope, Severity
from hornbook.model.code import code_id
from hornbook.vocabulary import predicates as p


class CodeReader:
    """Reads source files in the languages that we know."""

    tool = "code"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the file is in a language that we know."""
        return grammar_of(str(path)) is not None

    def read(self, file: SourceFile) -> Reading:
        """Return the file's language, signatures and imports."""
        problems = Problems(file.parts.path)
        text = file.parts.head + file.parts.body
        code = summarise(file.parts.path, text.encode("utf-8", "surrogatepass"))
        if code.problem:
            problems.info(None, "code_not_read", f"{code.problem}.")
        signatures = [(p.CODE_SIGNATURE.name, each.as_text()) for each in code.signatures]
        return Reading(
            path=file.parts.path,
            tool=self.tool,
            desired_id=code_id(file.parts.path),
            title=file.parts.path,
            category=Category.CODE,
            activation=Activation.MANUAL,
            severity=Severity.INFO,
            scope=Scope.CODE,
            mime_type="text/plain",
            head="",
            body="",
            body_line=1,
            links=tuple(Link("imports", reference, None) for reference in code.imports),
            facts=((p.CODE_LANGUAGE.name, code.language), *signatures),
            problems=problems.told(),
        )
