"""Every predicate that Hornbook writes, as constants; `vocabulary/*.ttl` says the same in RDF."""

from dataclasses import dataclass
from enum import StrEnum

from hornbook.vocabulary.terms import Category


class Datatype(StrEnum):
    """What the objects of a predicate are. A moment in an author's words is typed if it is one."""

    STRING = "xsd:string"
    INTEGER = "xsd:integer"
    BOOLEAN = "xsd:boolean"
    DECIMAL = "xsd:decimal"
    DATE_TIME = "xsd:dateTime"
    MOMENT = "date"
    ENTITY = "entity"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate: its dotted name, what its objects are, and whether it may be repeated."""

    name: str
    datatype: Datatype = Datatype.STRING
    many: bool = False

    def __str__(self) -> str:
        return self.name


RDF_TYPE = Predicate("rdf.type", Datatype.CLASS)

# Documents
TYPE = Predicate("source.doc.type")
TITLE = Predicate("source.doc.title")
CATEGORY = Predicate("source.doc.category")
APPLIES_TO = Predicate("source.doc.applies_to", many=True)
PATTERN = Predicate("source.doc.pattern", Datatype.ENTITY, many=True)
SEVERITY = Predicate("source.doc.severity")
SUMMARY = Predicate("source.doc.summary")
REQUIREMENTS = Predicate("source.doc.requirements", many=True)
MIME_TYPE = Predicate("source.doc.mime_type")
FILE_PATH = Predicate("source.doc.file_path")
FILE_HASH = Predicate("source.doc.file_hash")
SCOPE = Predicate("source.doc.scope")
DOMAIN = Predicate("source.doc.domain", many=True)
RELATED_DOMAINS = Predicate("source.doc.related_domains", many=True)
KEYWORDS = Predicate("source.doc.keywords", many=True)
ACTIVATION = Predicate("source.doc.activation")
TOOL = Predicate("source.doc.tool")
HEAD = Predicate("source.doc.head")
TOKENS = Predicate("source.doc.tokens", Datatype.INTEGER)
CHUNK_COUNT = Predicate("source.doc.chunk_count", Datatype.INTEGER)
INFERRED = Predicate("source.doc.inferred", many=True)
FORMERLY = Predicate("source.doc.formerly", many=True)
CLASHES_WITH = Predicate("source.doc.clashes_with", Datatype.ENTITY)
MENTION = Predicate("source.doc.mention", Datatype.ENTITY, many=True)
REVISION = Predicate("source.doc.revision", Datatype.ENTITY)
LINK_TARGET = Predicate("source.doc.link_target")
INCLUDE = Predicate("source.doc.include", Datatype.ENTITY, many=True)
INCLUDES = Predicate("source.doc.includes", Datatype.ENTITY, many=True)
ONLY_INCLUDES = Predicate("source.doc.only_includes", Datatype.BOOLEAN)

# What a document names on a line: the patterns it binds by, files it includes, other documents
PATTERN_GLOB = Predicate("source.pattern.glob")
PATTERN_RAW = Predicate("source.pattern.raw")
PATTERN_LINE = Predicate("source.pattern.line", Datatype.INTEGER)
INCLUDE_PATH = Predicate("source.include.path")
INCLUDE_BY = Predicate("source.include.by")
INCLUDE_LINE = Predicate("source.include.line", Datatype.INTEGER)
INCLUDE_HASH = Predicate("source.include.hash")
INCLUDE_TOKENS = Predicate("source.include.tokens", Datatype.INTEGER)
INCLUDE_DOCUMENT = Predicate("source.include.document", Datatype.ENTITY)
INCLUDE_UNREAD = Predicate("source.include.unread")
INCLUDE_GLOB = Predicate("source.include.glob", many=True)
MENTION_RELATION = Predicate("source.mention.relation")
MENTION_TEXT = Predicate("source.mention.text")
MENTION_LINE = Predicate("source.mention.line", Datatype.INTEGER)
MENTION_TARGET = Predicate("source.mention.target", Datatype.ENTITY)
PROBLEM_CODE = Predicate("problem.code")
PROBLEM_LEVEL = Predicate("problem.level")
PROBLEM_LINE = Predicate("problem.line", Datatype.INTEGER)
PROBLEM_MESSAGE = Predicate("problem.message")
PROBLEM_RULE = Predicate("problem.rule", Datatype.ENTITY)

# Chunks
CONTENT = Predicate("source.doc.content")
SECTION = Predicate("source.doc.section")
CHUNK_INDEX = Predicate("source.doc.chunk_index", Datatype.INTEGER)
START = Predicate("source.doc.start", Datatype.INTEGER)
END = Predicate("source.doc.end", Datatype.INTEGER)
BELONGS = Predicate("code.structure.belongs", Datatype.ENTITY)

# Any source
META_TYPE = Predicate("source.meta.type")
META_NAME = Predicate("source.meta.name")
META_STATUS = Predicate("source.meta.status")
META_PROJECT = Predicate("source.meta.project")
META_ADDED_BY = Predicate("source.meta.added_by")
META_ADDED_AT = Predicate("source.meta.added_at", Datatype.MOMENT)
META_ERROR = Predicate("source.meta.error", Datatype.ENTITY, many=True)
META_AUTHORITY = Predicate("source.meta.authority")

# Decisions
DECISION_STATUS = Predicate("decision.status")
DECISION_DATE = Predicate("decision.date", Datatype.MOMENT)
DECISION_DECIDERS = Predicate("decision.deciders", many=True)
DECISION_SUPERSEDES = Predicate("decision.supersedes", Datatype.ENTITY, many=True)
DECISION_SUPERSEDED_BY = Predicate("decision.superseded_by", Datatype.ENTITY, many=True)
DECISION_AMENDS = Predicate("decision.amends", Datatype.ENTITY, many=True)
DECISION_AMENDED_BY = Predicate("decision.amended_by", Datatype.ENTITY, many=True)

# History
REVISION_OF = Predicate("prov.revision_of", Datatype.ENTITY)
DERIVED_FROM = Predicate("prov.derived_from", Datatype.ENTITY, many=True)
GENERATED_AT = Predicate("prov.generated_at", Datatype.DATE_TIME, many=True)
INVALIDATED_AT = Predicate("prov.invalidated_at", Datatype.DATE_TIME, many=True)

# Source code
CODE_LANGUAGE = Predicate("code.language")
CODE_SIGNATURE = Predicate("code.signature", many=True)
CODE_IMPORTS = Predicate("code.imports", Datatype.ENTITY, many=True)

# Receipts
RECEIPT_BASE = Predicate("receipt.base")
RECEIPT_HEAD = Predicate("receipt.head")
RECEIPT_PROMPT = Predicate("receipt.prompt")
RECEIPT_FILE = Predicate("receipt.file", many=True)

# Reviews
REVIEW_OUTCOME = Predicate("review.outcome")
REVIEW_REJECTION_TYPE = Predicate("review.rejection_type")
REVIEW_RECEIPT = Predicate("review.receipt", Datatype.ENTITY, many=True)
REVIEW_PASSED = Predicate("review.passed", Datatype.ENTITY, many=True)
REVIEW_VIOLATED = Predicate("review.violated", Datatype.ENTITY, many=True)
REVIEW_NOT_APPLICABLE = Predicate("review.not_applicable", Datatype.ENTITY, many=True)
REVIEW_DOUBTED = Predicate("review.doubted", Datatype.ENTITY, many=True)
REVIEW_FINDING = Predicate("review.finding", Datatype.ENTITY, many=True)
REVIEW_PROBLEM = Predicate("review.problem", Datatype.ENTITY, many=True)
REVIEW_RUN = Predicate("review.run", Datatype.ENTITY)
FINDING_RULE = Predicate("finding.rule", Datatype.ENTITY)
FINDING_UNIT = Predicate("finding.unit")
FINDING_SEVERITY = Predicate("finding.severity")
FINDING_STATUS = Predicate("finding.status")
FINDING_PATH = Predicate("finding.path")
FINDING_LINE = Predicate("finding.line", Datatype.INTEGER)
FINDING_MESSAGE = Predicate("finding.message")

# Conventions
CONVENTION_STANDING = Predicate("convention.standing")
CONVENTION_EVIDENCE = Predicate("convention.evidence", many=True)

# Plans and what is derived from them
PLAN_COMMITTED = Predicate("plan.committed", Datatype.BOOLEAN)
PLAN_CREATED_AT = Predicate("plan.created_at", Datatype.DATE_TIME)
PLAN_COMMITTED_AT = Predicate("plan.committed_at", Datatype.DATE_TIME)
PLAN_IN = Predicate("plan.in", many=True)
PLAN_OUT = Predicate("plan.out", many=True)
PLAN_DO_NOT_TOUCH = Predicate("plan.do_not_touch", many=True)
PLAN_SUPERSEDES = Predicate("plan.supersedes", Datatype.ENTITY)
PLAN_REFERENCES = Predicate("plan.references", Datatype.ENTITY, many=True)
TASK_DEPENDS_ON = Predicate("task.depends_on", Datatype.ENTITY, many=True)
TASK_FILE = Predicate("task.file", many=True)
TASK_CRITERION = Predicate("task.criterion", many=True)
RISK_SEVERITY = Predicate("risk.severity")

# Runs, and what they ask people
RUN_STATUS = Predicate("run.status")
RUN_WORKFLOW = Predicate("run.workflow")
RUN_PARENT = Predicate("run.parent", Datatype.ENTITY)
RUN_AGENT = Predicate("run.agent")
RUN_ATTEMPTS = Predicate("run.attempts", Datatype.INTEGER)
RUN_TOKENS = Predicate("run.tokens", Datatype.INTEGER)
RUN_COST = Predicate("run.cost", Datatype.DECIMAL)
RUN_ENDED_AT = Predicate("run.ended_at", Datatype.DATE_TIME)
RUN_COMMIT = Predicate("run.commit")
RUN_ASKS = Predicate("run.asks", Datatype.ENTITY)
RUN_QUESTION = Predicate("run.question")
RUN_ANSWERED_BY = Predicate("run.answered_by", many=True)
ESCALATION_KIND = Predicate("escalation.kind")

# The store itself
STORE_SCHEMA = Predicate("store.meta.schema", Datatype.INTEGER)
STORE_VERSION = Predicate("store.meta.version")
STORE_PREDICATE = Predicate("store.meta.predicate", many=True)
STORE_COLLECTION = Predicate("store.meta.collection", many=True)

PREDICATES: dict[str, Predicate] = {
    value.name: value for value in list(globals().values()) if isinstance(value, Predicate)
}

FACTS: tuple[Predicate, ...] = (
    RECEIPT_BASE,
    RECEIPT_HEAD,
    RECEIPT_PROMPT,
    RECEIPT_FILE,
    CODE_LANGUAGE,
    CODE_SIGNATURE,
    REVIEW_OUTCOME,
    REVIEW_REJECTION_TYPE,
    REVIEW_RECEIPT,
    REVIEW_PASSED,
    REVIEW_VIOLATED,
    REVIEW_NOT_APPLICABLE,
    REVIEW_DOUBTED,
    REVIEW_RUN,
    CONVENTION_STANDING,
    CONVENTION_EVIDENCE,
    DERIVED_FROM,
    PLAN_COMMITTED,
    PLAN_CREATED_AT,
    PLAN_COMMITTED_AT,
    PLAN_IN,
    PLAN_OUT,
    PLAN_DO_NOT_TOUCH,
    PLAN_SUPERSEDES,
    TASK_DEPENDS_ON,
    TASK_FILE,
    TASK_CRITERION,
    RISK_SEVERITY,
    RUN_STATUS,
    RUN_WORKFLOW,
    RUN_PARENT,
    RUN_AGENT,
    RUN_ATTEMPTS,
    RUN_TOKENS,
    RUN_COST,
    RUN_ENDED_AT,
    RUN_COMMIT,
    RUN_ASKS,
    RUN_QUESTION,
    RUN_ANSWERED_BY,
    ESCALATION_KIND,
)

LINKS: dict[str, Predicate] = {
    "supersedes": DECISION_SUPERSEDES,
    "superseded_by": DECISION_SUPERSEDED_BY,
    "amends": DECISION_AMENDS,
    "amended_by": DECISION_AMENDED_BY,
    "imports": CODE_IMPORTS,
    "references": PLAN_REFERENCES,
}


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
    SOURCE = "Source"
    PATTERN = "Pattern"
    INCLUSION = "Inclusion"
    MENTION = "Mention"
    REMARK = "Remark"
    PROBLEM = "Problem"
    FINDING = "Finding"
    REVIEW_PROBLEM = "ReviewProblem"


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


@dataclass(frozen=True, slots=True)
class PartKind:
    """Things that a document is described with and that have facts of their own.

    Each is called `<document>.<name>.<number>`; the document leads to it by `link`.
    """

    name: str
    link: Predicate
    of: Class


PART_KINDS: dict[str, PartKind] = {
    kind.name: kind
    for kind in (
        PartKind("pattern", PATTERN, Class.PATTERN),
        PartKind("include", INCLUDE, Class.INCLUSION),
        PartKind("mention", MENTION, Class.MENTION),
        PartKind("problem", META_ERROR, Class.PROBLEM),
        PartKind("finding", REVIEW_FINDING, Class.FINDING),
        PartKind("objection", REVIEW_PROBLEM, Class.REVIEW_PROBLEM),
    )
}

W3C: dict[str, str] = {
    DERIVED_FROM.name: "wasDerivedFrom",
    REVISION_OF.name: "specializationOf",
    GENERATED_AT.name: "generatedAtTime",
    INVALIDATED_AT.name: "invalidatedAtTime",
}
"""The dotted names of terms of PROV-O, which are the W3C's and not defined anew."""
