"""How our own documents come to bind files."""

from hornbook.rules.document import Problems
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.rules.metadata.keys import OWN_KEYS
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding
from hornbook.vocabulary.terms import Activation, Category

PATTERN_KEYS = tuple(key for key, meant in OWN_KEYS.items() if meant == "applies_to")


def own_binding(parts: Parts, category: Category, problems: Problems) -> ReadBinding:
    """Return how one of our own documents binds: by `activation`, patterns or category."""
    derived = _by_patterns(parts, category, problems)
    if not parts.readable:
        return ReadBinding(Activation.UNKNOWN, derived.patterns)
    stated = fields.term(parts, "activation", Activation.UNKNOWN, problems)
    if stated is None or derived.activation is Activation.UNKNOWN:
        return derived
    if stated in {Activation.GLOB, Activation.DIR} and not derived.patterns:
        message = f"`activation: {stated}` has no patterns: add `applies_to`."
        problems.error(parts.lines.get("activation"), "no_applies_to", message)
        return ReadBinding(Activation.UNKNOWN)
    return ReadBinding(stated, derived.patterns)


def _by_patterns(parts: Parts, category: Category, problems: Problems) -> ReadBinding:
    found = read_patterns(parts, PATTERN_KEYS, problems)
    if found.given:
        if not found.patterns and found.sound:
            line = next(parts.lines.get(key) for key in PATTERN_KEYS if key in parts.metadata)
            message = (
                "`applies_to` is empty, so the document binds no file: add patterns if it should."
            )
            problems.info(line, "empty_applies_to", message)
        return found.binding(Activation.NEVER)
    if category is not Category.SOP:
        return ReadBinding(Activation.MANUAL)
    if parts.readable and parts.metadata.get("activation") is None:
        message = "There is no `applies_to`, so the SOP binds every file: name the files it is for."
        problems.warning(1, "no_applies_to", message)
    return ReadBinding(Activation.ALWAYS)
