"""Source files: what they declare and import, without their text."""

from pathlib import PurePosixPath

from hornbook.rules.code.file import code_id
from hornbook.rules.code.parsing import grammar_of
from hornbook.rules.code.summary import summarise
from hornbook.rules.document import Link, Problems
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity


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
