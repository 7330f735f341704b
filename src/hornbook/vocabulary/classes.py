"""The classes of things in the graph; `vocabulary/*.ttl` defines the same ones."""

from enum import StrEnum

from hornbook.model.terms import Category


class Class(StrEnum):
    """What a thing in the graph is, as its `rdf.type`."""

    DOCUMENT = "Document"
    SOP = "SOP"
    DECISION = "Decision"
    CONVENTION = "Convention"
    SPEC = "Spec"
    DATASHEET = "Datasheet"
    REFERENCE = "Reference"
    API = "API"
    PLAN = "Plan"
    TASK = "Task"
    RISK = "Risk"
    RECEIPT = "Receipt"
    REVIEW = "Review"
    RUN = "Run"
    ESCALATION = "Escalation"
    CODE_FILE = "CodeFile"
    DOCUMENT_CHUNK = "DocumentChunk"
    REVISION = "Revision"
    TOMBSTONE = "Tombstone"
    STORE = "Store"


CLASS_OF: dict[Category, Class] = {
    Category.SOP: Class.SOP,
    Category.SPEC: Class.SPEC,
    Category.DATASHEET: Class.DATASHEET,
    Category.REFERENCE: Class.REFERENCE,
    Category.API: Class.API,
    Category.DECISION: Class.DECISION,
    Category.CONVENTION: Class.CONVENTION,
    Category.PLAN: Class.PLAN,
    Category.TASK: Class.TASK,
    Category.RISK: Class.RISK,
    Category.RECEIPT: Class.RECEIPT,
    Category.REVIEW: Class.REVIEW,
    Category.RUN: Class.RUN,
    Category.ESCALATION: Class.ESCALATION,
    Category.CODE: Class.CODE_FILE,
}
