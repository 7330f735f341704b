"""Every command's answer on fixed repositories is what it was when it was stored."""

import json
from pathlib import Path

from tests.frozen import repositories as given
from tests.frozen.kept import hold
from tests.frozen.stories import Story, git, tell

CASES = Path(__file__).parents[1] / "data"
SPAN = "main..work"
FORMS = ("text", "json", "sarif", "junit", "github", "markdown")
QUERIES = {
    "query-entities": "{ entities { id } }",
    "query-sops": '{ entities(filter: { predicatePrefix: "source.doc.sops" }) { id triples { predicate object } } }',
    "query-plans": "{ plans { id } }",
    "query-bad": "{ nothing }",
}
SPARQL = "SELECT ?g (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g"


def _rules(story: Story) -> None:
    """What is said about rules and documents."""
    story.both("init", "init")
    story.ask("why-before", "why", "handlers/user.go", "--json")
    story.ask("ingest", "ingest", "--json")
    story.ask("ingest-again", "ingest", "--json")
    story.ask("ingest-strict", "ingest", "--strict", "--json")
    files = ("handlers/user.go", "handlers/user_test.go", "app/price.py", "nowhere/new.ts")
    story.both("why", "why", *files)
    story.both("why-at", "why", "app/tax.py", "--at", "main")
    story.both("match", "match", "handlers/**", "handlers/user.go", "app/tax.py")
    story.both("tokens", "tokens", "README.md", "app/price.py")
    story.ask("tokens-cl100k", "tokens", "--counter", "cl100k", "README.md", "--json")
    story.both("chunks", "chunks", f"{given.SOPS}/naming.md")
    story.both("show", "show", given.ERRORS)
    story.both("history", "history", given.ERRORS)
    story.both(
        "size", "size", "--files", "app/*.py", "--description", "Two rates", "--criteria", "two"
    )
    story.ask("size-small", "size", "--files", "handlers/user.go", "--window", "9000", "--json")
    for name, text in QUERIES.items():
        story.ask(name, "query", "--text", text)
    for form in ("json", "csv", "tsv", "xml"):
        story.ask(f"sparql-{form}", "sparql", "--text", SPARQL, "--format", form)
    story.ask("sparql-service", "sparql", "--text", "SELECT * { SERVICE <http://x> { ?s ?p ?o } }")
    for form in ("nquads", "turtle", "trig", "jsonld"):
        story.ask(f"export-{form}", "export", "--format", form)  # fmt: skip


def _plans(story: Story) -> None:
    """What is said about plans and what they led to."""
    story.write({"limits.md": given.PLAN, "unfit.md": given.UNFIT})
    story.both("plans-none", "plans")
    story.ask("explore", "explore", "Two rates", "--from", "limits.md", "--json")
    story.ask("plans-check-explored", "plans", "check", "two-rates", "--json")
    story.ask("promote", "promote", "two-rates", "--json")
    story.ask("plan-unfit", "plan", "Unfit", "--from", "unfit.md", "--json")
    story.ask("explore-unfit", "explore", "Unfit idea", "--from", "unfit.md", "--json")
    story.both("plans-check-unfit", "plans", "check", "unfit-idea")
    story.ask("plans-use", "plans", "use", "two-rates", "--json")
    story.both("tasks", "tasks", "two-rates")
    story.both("spec", "spec", "two-rates")
    story.both("design", "design", "two-rates")
    why = ("--reason", "It is simple.", "--impact", "No file is read.")
    story.ask("decide", "decide", "two-rates", "--decision", "A table", *why, "--json")
    story.ask("decide-anew", "decide", "two-rates", "--decision", "A file", *why, "--supersedes", "decision.two-rates-1", "--json")  # fmt: skip
    story.ask("risk", "risk", "two-rates", "--id", "R1", "--severity", "high", "--text", "Rates change.", "--json")  # fmt: skip
    story.ask("invariants-propose", "invariants", "propose", "two-rates", "--text", "Rates are whole.", "--reason", "Cents.", "--json")  # fmt: skip
    story.both("invariants", "invariants")
    story.both("plans", "plans")
    story.both("plans-show", "plans", "show", "two-rates")
    story.ask("size-plan", "size", "--plan", "two-rates", "--json")
    story.ask("develop", "context", "develop", "--plan", "two-rates", "--task", "1", "--json")
    story.ask("develop-text", "context", "develop", "--plan", "two-rates", "--task", "2")
    story.ask("checkpoint", "checkpoint", "two-rates", "--json")
    story.both("recover", "recover", "two-rates")
    story.ask("session-start", "hook", "session-start", stdin='{"session_id": "s", "source": "startup"}')  # fmt: skip


def _reviews(story: Story) -> None:
    """What a reviewer gets, and what becomes of a review."""
    story.both("gates-list", "gates", "list")
    story.ask("gates-list-diff", "gates", "list", "--diff", SPAN, "--json")
    for form in ("text", "json", "junit"):
        story.ask(f"gates-run-{form}", "gates", "run", "--format", form)
    ran = story.ask("gates-run-diff", "gates", "run", "--diff", SPAN, "--json")
    story.ask("gates-run-plan", "gates", "run", "--diff", SPAN, "--plan", "two-rates", "--json")
    files = ("--files", "handlers/user.go", "--files", "app/*.py")
    out = ("--output", "context")
    written = ("context/prompt.md", "context/receipt.json")
    story.ask("context-review", "context", "review", *files, *out, "--json", files=written)
    story.ask("context-review-text", "context", "review", *files)
    story.ask("context-diff", "context", "review", "--diff", SPAN, "--plan", "two-rates", "--json")
    story.both("context-verify", "context", "verify", "context/receipt.json", "context/prompt.md")
    story.write({"context/cut.md": (story.root / "context/prompt.md").read_text()[:-9]})
    story.both("context-verify-cut", "context", "verify", "context/receipt.json", "context/cut.md")
    packet = [f"packet/{name}" for name in ("prompt.md", "receipt.json", "review.schema.json")]
    story.ask("review-prepare", "review", "prepare", "--diff", SPAN, "--json", files=packet)
    ids = json.loads((story.root / "packet/receipt.json").read_text())["sop_ids"]
    reviews = {
        "good": given.review(ids),
        "bad": given.rejected(ids),
        "poor": given.review(ids[1:], confidence=0.2),
        "lying": given.review(ids).replace("user.go:8", "users.go:8"),
        "garbled": "I approve.",
    }
    story.write({f"{name}.json": text for name, text in reviews.items()})
    story.write({"gates.json": json.dumps(ran)})
    with_gates = ("--gates", "gates.json", "--require-bound-gates")
    for name in reviews:
        check = ("review", "check", f"{name}.json", "--receipt", "packet/receipt.json")
        for form in FORMS if name in {"good", "bad", "lying"} else ("json",):
            story.ask(f"review-{name}-{form}", *check, *with_gates, "--format", form)
    record = ("--receipt", "packet/receipt.json", "--record", "--json")
    story.ask("review-record", "review", "check", "good.json", *record)
    story.ask("review-record-bad", "review", "check", "bad.json", *record)
    story.ask("ingest-records", "ingest", "--json")
    story.both("reviews", "reviews")
    story.both("reviews-rules", "reviews", "rules")
    (learned, *_) = story.both("conventions", "conventions")["conventions"]
    story.ask("conventions-promote", "conventions", "promote", learned["id"])
    story.ask("why-convention", "why", "handlers/user.go", "--json")
    story.ask("conventions-retire", "conventions", "retire", learned["id"])
    story.ask("export-all", "export")


def test_every_answer_on_rules_plans_and_reviews_is_as_stored(tmp_path: Path) -> None:
    story = tell(tmp_path, "shop")
    story.begin({**given.RULES, **given.SOURCES})
    git(story.root, "checkout", "-q", "-b", "work")
    story.commit(given.CHANGED)
    _rules(story)
    _plans(story)
    _reviews(story)
    hold("shop", story.answers)


def test_every_answer_on_an_executed_plan_is_as_stored(tmp_path: Path) -> None:
    story = tell(tmp_path, "tax", timed=True)
    story.begin(given.TAX)
    git(story.root, "checkout", "-q", "-b", "work")
    assert story.play("ingest").code == 0
    story.write({"plan.md": given.TAX_PLAN})
    story.ask("plan", "plan", "Add tax", "--from", "plan.md", "--json")
    story.ask("tasks", "tasks", "add-tax", "--json")
    story.both("runs-none", "runs")
    plan = json.dumps(given.TAX_PLAN.replace("Add tax", "More tax"))
    story.write({".hornbook/scripted.yaml": given.TAX_SCRIPT.replace("PLANNED", plan)})
    # One after the other: side by side, whose event comes first is a matter of speed.
    for task in ("1", "2"):
        asked = ("execute", "add-tax", "--task", task, "--agent", "scripted", "--json")
        story.ask(f"execute-{task}", *asked, told=False)
    story.both("runs-asking", "runs", "show", "add-tax-t2-1")
    story.ask("resume-asking", "resume", "add-tax-t2-1", "--json", told=False)
    story.ask("answer", "answer", "add-tax-t2-1", "--accept", "--reason", "It is right.", "--json")
    story.ask("resume", "resume", "add-tax-t2-1", "--json", told=False)
    story.ask("auto", "auto", "More tax", "--agent", "scripted", "--json", told=False)
    story.both("runs", "runs")
    for run in ("add-tax-t1-1", "add-tax-t2-1"):
        story.both(f"runs-show-{run}", "runs", "show", run)
        story.ask(f"runs-events-{run}", "runs", "events", run, "--json")
    story.ask("ingest", "ingest", "--json")
    story.both("reviews", "reviews")
    story.ask("recover", "recover", "add-tax", "--json")
    story.ask("query-runs", "query", "--text", '{ plan(slug: "add-tax") { id status } }')
    branch = "hornbook/add-tax"
    log = git(story.root, "log", "--no-merges", "--format=%s%n%b%x00", branch).split("\0")
    story.answers["branch"] = {
        "tree": git(story.root, "rev-parse", f"{branch}^{{tree}}"),
        "commits": [story.plain(text.splitlines()) for text in sorted(map(str.strip, log))],
    }
    hold("tax", story.answers)


def test_every_answer_of_setting_up_is_as_stored(tmp_path: Path) -> None:
    story = tell(tmp_path, "fresh")
    story.begin({**given.SOURCES, **given.TRACK})
    (story.root / ".hornbook/config.yaml").unlink()
    story.ask("init-text", "init")
    story.ask("init-gates", "init", "--gates", "auto", "--json")
    story.ask("init-examples", "init", "--examples", "--json")
    settings = (".claude/settings.json",)
    story.ask("init-hooks", "init", "--hooks", "claude", "--json", files=settings)
    story.write({".hornbook/config.yaml": given.CONFIG})
    story.ask("gates-prove", "gates", "list", "--prove", "--json")
    story.ask("why-before", "why", "app/tax.py")
    story.ask("ingest", "ingest", "--json")
    story.ask("import", "plans", "import", "old", "--json")
    story.both("plans", "plans")
    story.write({"limits.md": given.PLAN})
    story.ask("propose", "propose", "Two rates", "--from", "limits.md", "--json")
    story.ask("promote", "promote", "two-rates", "--json")
    why = ("--text", "Rates are whole.", "--reason", "Cents.")
    proposed = story.ask("propose-invariant", "invariants", "propose", "two-rates", *why, "--json")
    story.ask("promote-invariant", "invariants", "promote", proposed["id"], "--json")
    story.both("invariants", "invariants")
    story.ask("explore", "explore", "Three rates", "--supersedes", "two-rates", "--json")
    story.ask("spec-from", "spec", "three-rates", "--from", "limits.md", "--json")
    story.ask("design-from", "design", "three-rates", "--from", "limits.md", "--json")
    for event in ("session-start", "post-tool-use", "pre-compact", "post-compact", "stop"):
        sent = {"session_id": "s", "tool_name": "Read", "tool_input": {"file_path": "README.md"}}
        story.ask(f"hook-{event}", "hook", event, stdin=json.dumps(sent))
    hold("fresh", story.answers)


BAD_INPUTS: dict[str, tuple[str, ...]] = {
    "no-such-command": ("nothing",),
    "no-such-option": ("why", "--colour", "a.py"),
    "no-such-folder": ("--root", "nowhere", "plans"),
    "why-nothing": ("why",),
    "why-outside": ("why", "../secret.py"),
    "why-absolute": ("why", "/etc/passwd"),
    "why-bad-commit": ("why", "src/a.py", "--at", "nowhere"),
    "show-nothing": ("show", "source.doc.sops.nothing"),
    "history-nothing": ("history", "no id"),
    "match-bad-glob": ("match", "a[", "a"),
    "match-bad-range": ("match", "[z-a]", "a"),
    "chunks-nothing": ("chunks", "nowhere.md"),
    "tokens-bad-counter": ("tokens", "--counter", "abacus", "src/a.py"),
    "query-nothing": ("query",),
    "query-no-syntax": ("query", "--text", "{ entities {"),
    "query-bad-variables": ("query", "--text", "{ entities { id } }", "--variables", "x"),
    "sparql-no-syntax": ("sparql", "--text", "SELECT WHERE"),
    "sparql-update": ("sparql", "--text", "DELETE WHERE { ?s ?p ?o }"),
    "sparql-bad-format": ("sparql", "--text", "ASK {}", "--format", "yaml"),
    "export-bad-format": ("export", "--format", "yaml"),
    "size-nothing": ("size",),
    "size-no-model": ("size", "--files", "src/a.py", "--model", "gpt-0"),
    "context-nothing": ("context", "review"),
    "context-bad-diff": ("context", "review", "--diff", "main", "--reserve", "4000"),
    "context-no-receipt": ("context", "verify", "a.json", "b.md"),
    "prepare-no-diff": ("review", "prepare"),
    "prepare-bad-diff": ("review", "prepare", "--diff", "a..b"),
    "check-no-receipt": ("review", "check", "review.json"),
    "gates-bad-diff": ("gates", "run", "--diff", "x..y"),
    "gates-plan-without-diff": ("gates", "run", "--plan", "none"),
    "plans-show-nothing": ("plans", "show", "nothing"),
    "plans-use-nothing": ("plans", "use", "nothing"),
    "plan-no-file": ("plan", "Title", "--from", "nowhere.md"),
    "promote-nothing": ("promote", "nothing"),
    "tasks-nothing": ("tasks", "nothing"),
    "decide-no-reason": ("decide", "nothing", "--decision", "x"),
    "risk-bad-severity": ("risk", "x", "--id", "R1", "--severity", "odd", "--text", "t"),
    "checkpoint-nothing": ("checkpoint", "nothing"),
    "recover-nothing": ("recover", "nothing"),
    "execute-nothing": ("execute", "nothing", "--agent", "scripted"),
    "resume-nothing": ("resume", "nothing"),
    "answer-nothing": ("answer", "nothing", "--text", "yes"),
    "runs-show-nothing": ("runs", "show", "nothing"),
    "runs-events-nothing": ("runs", "events", "nothing"),
    "reviews-bad-revision": ("reviews", "--revision", "nothing"),
    "conventions-promote-nothing": ("conventions", "promote", "nothing"),
    "invariants-promote-nothing": ("invariants", "promote", "nothing"),
    "template-nothing": ("template", "check", "nowhere.xml"),
    "workflow-nothing": ("workflow", "check", "nowhere.json"),
    "hook-nothing": ("hook", "no-such-event"),
    "hook-no-json": ("hook", "pre-tool-use"),
    "import-nothing": ("plans", "import", "nowhere"),
}

BAD_GATES = {
    "twice": [("b", "pytest"), ("b", "go test ./...")],
    "swallowed": [("a", "pytest || true"), ("b", "pytest")],
    "odd-name": [("a b", "pytest"), ("floor:x", "pytest")],
}


def test_every_refusal_and_problem_is_told_as_stored(tmp_path: Path) -> None:
    story = tell(tmp_path, "bad")
    story.begin(given.BAD)
    git(story.root, "checkout", "-q", "-b", "work")
    story.commit({"src/a.py": "def a() -> int:\n    return 2\n"})
    story.ask("ingest", "ingest", "--json")
    story.ask("ingest-text", "ingest", "--strict")
    story.both("why", "why", "src/a.py")
    for name, arguments in BAD_INPUTS.items():
        story.ask(name, *arguments)
    small = ("--reserve", "4000", "--json")
    story.ask("context-overflow", "context", "review", "--files", "src/a.py", *small)
    story.ask("prepare-overflow", "review", "prepare", "--diff", SPAN, *small)
    story.ask("prepare-passes", "review", "prepare", "--diff", SPAN, "--passes", *small)
    story.ask("export", "export")
    story.write({".hornbook/config.yaml": "reserve: many\ncolour: red\ngates:\n  additonal: []\n"})
    story.both("bad-settings", "why", "src/a.py")
    for name, commands in BAD_GATES.items():
        gates = json.dumps([{"name": gate, "command": command} for gate, command in commands])
        story.write({".hornbook/config.yaml": f'{{"gates": {{"additional": {gates}}}}}'})
        story.both(f"bad-gates-{name}", "gates", "list")
    hold("bad", story.answers)


def test_every_template_and_workflow_is_judged_as_stored(tmp_path: Path) -> None:
    cases = json.loads((CASES / "cases" / "xml_templates.json").read_text())
    source = json.loads((CASES / "workflows" / "source.json").read_text())
    without = [{key: value for key, value in source.items() if key != left} for left in source]
    shorter = [
        {**source, "steps": source["steps"][:place] + source["steps"][place + 1 :]}
        for place in range(len(source["steps"]))
    ]
    story = tell(tmp_path, "checked")
    for case in cases:
        story.write({f"{case['id']}.xml": case["xml"]})
        story.ask(case["id"], "template", "check", f"{case['id']}.xml", "--json")
    for place, workflow in enumerate([source, *without, *shorter]):
        story.write({f"w{place:02}.json": json.dumps(workflow)})
        story.ask(f"W{place:02}", "workflow", "check", f"w{place:02}.json", "--json")
    hold("checked", {"all": story.answers})
