"""What agents get over MCP: tools, resources and the prompt."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from inline_snapshot import snapshot
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import ListToolsResult, PromptReference, ResourceTemplateReference

from hornbook import Workspace
from hornbook.context.receipt import verify
from hornbook.serve.mcp import tools
from hornbook.serve.mcp.prompts import split_files
from hornbook.serve.mcp.server import described, in_tools
from hornbook.text.tokens import counter
from tests.kit.mcp_clients import ERRORS, call, in_process, refusal, repository
from tests.kit.mcp_service import serving
from tests.kit.workspaces import ERROR_HANDLING, SOPS, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def test_rules_for_files_are_those_of_the_workspace(root: Path) -> None:
    async def ask() -> Any:
        async with in_process(root) as client:
            return await call(
                client, "rules_for_files", files=["./handlers//user.go", "no/such.go"]
            )

    found = anyio.run(ask)["files"]
    assert [each["path"] for each in found] == ["handlers/user.go", "no/such.go"]
    with Workspace.open(root) as work:
        (expected, _) = work.why(["handlers/user.go", "no/such.go"])
    assert [rule["id"] for rule in found[0]["rules"]] == [rule.id for rule in expected.rules]
    assert found[0]["rules"][0]["pattern_line"] == 3
    assert (found[0]["tokens"], found[0]["fits"]) == (expected.tokens, True)


def test_rules_are_read_whole_by_id_or_by_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "source.doc.sops.test-coverage"

    async def ask() -> Any:
        async with in_process(root) as client:
            by_id = await call(client, "read_rules", ids=[ERRORS])
            by_file = await call(client, "read_rules", files=["handlers/user.go"])
            monkeypatch.setattr(tools, "MOST_TOKENS", 1)
            first = await call(client, "read_rules", ids=[other, ERRORS])
            rest = await call(
                client, "read_rules", ids=[other, ERRORS], cursor=first["next_cursor"]
            )
            missing = await refusal(client, "read_rules", ids=["source.doc.sops.none"])
            neither = await refusal(client, "read_rules")
            return by_id, by_file, first, rest, missing, neither

    by_id, by_file, first, rest, missing, neither = anyio.run(ask)
    assert [each["text"] for each in by_id["rules"]] == [ERROR_HANDLING]
    assert "next_cursor" not in by_id
    with Workspace.open(root) as work:
        (bound,) = work.why(["handlers/user.go"])
    assert [each["id"] for each in by_file["rules"]] == [rule.id for rule in bound.rules]
    assert ([each["id"] for each in first["rules"]], first["left"]) == ([ERRORS], [other])
    assert first["rules"][0]["text"] == ERROR_HANDLING  # alone it is over the limit, and whole
    assert [each["id"] for each in rest["rules"]] == [other]
    assert "next_cursor" not in rest
    assert "search_entities" in missing
    assert "either ids or files" in neither


def test_a_search_finds_words_in_any_order(root: Path) -> None:
    async def ask() -> Any:
        async with in_process(root) as client:
            texts = ("Error Handling", "handling ERROR", "sops error", "error zebra")
            return [await call(client, "search_entities", text=each) for each in texts]

    found = [[each["id"] for each in page["entities"]] for page in anyio.run(ask)]
    assert [ERRORS in each for each in found] == [True, True, True, False]


def test_a_remedy_names_the_tool_in_the_place_of_a_command(root: Path) -> None:
    async def ask() -> Any:
        async with in_process(root) as client:
            return await refusal(client, "get_entity", id="no.such.thing")

    told = anyio.run(ask)
    assert "search_entities lists what is there" in told
    assert "`hornbook" not in told
    assert in_tools("run `hornbook why FILE`, or `hornbook plans`.") == (
        "run rules_for_files, or plan_status."
    )


def test_the_list_of_tools_takes_less_than_4000_tokens() -> None:
    listed = ListToolsResult(tools=[described(tool) for tool in tools.TOOLS])
    text = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert counter("cl100k")(text) < 4000
    assert [tool.name for tool in tools.TOOLS if not tool.read_only] == []


def test_a_complete_review_context_carries_its_receipt(root: Path) -> None:
    async def ask() -> Any:
        async with in_process(root) as client:
            return await call(client, "review_context", diff="HEAD~1..HEAD")

    found = anyio.run(ask)
    text = found.pop("text")
    assert found["outcome"] == "complete"
    assert found["sop_ids"] == [ERRORS, "source.doc.sops.test-coverage"]
    assert ERROR_HANDLING.split("---\n")[2].strip().splitlines()[-1] in text
    assert "func New() {}" in text
    assert verify(found, text.encode(), counter) == []
    assert verify(found, text.encode() + b"x", counter) != []


def test_a_context_that_cannot_be_whole_is_refused_with_a_split(root: Path) -> None:
    large = "Word after word, and then some more of them.\n" * 300
    write(
        root,
        {
            f"{SOPS}/{name}.md": f"---\napplies_to: {name}/**\n---\n# {name}\n\n{large}"
            for name in ("one", "two", "six")
        }
        | {".hornbook/config.yaml": "reserve: 4000\n"}
        | dict.fromkeys(("a.c", "one/a.py", "two/a.py", "six/a.py"), "\n"),
    )
    with Workspace.open(root) as work:
        work.ingest()

    async def ask() -> tuple[Any, str]:
        async with in_process(root) as client:
            found = await call(client, "review_context", files=["one/a.py", "two/a.py", "six/a.py"])
            with pytest.raises(MCPError) as refused:
                await client.get_prompt("review_change", {"files": "one/a.py, two/a.py,six/a.py"})
            return found, str(refused.value)

    found, refused = anyio.run(ask)
    assert found["outcome"] == "too_big"
    assert found["text"] is None
    assert sorted(file for group in found["split"] for file in group) == [
        "one/a.py",
        "six/a.py",
        "two/a.py",
    ]
    assert found["reasons"][0]["message"] in refused
    assert refused.startswith("too_big: the prompt cannot be whole, so there is none.")
    assert "group 1: " in refused


def test_rules_that_overflow_are_given_in_passes(root: Path) -> None:
    large = "Word after word, and then some more of them.\n" * 300
    write(
        root,
        {
            f"{SOPS}/{name}.md": f"---\napplies_to: '*.c'\n---\n# {name}\n\n{large}"
            for name in ("one", "two")
        }
        | {".hornbook/config.yaml": "reserve: 4000\n"}
        | dict.fromkeys(("a.c", "one/a.py", "two/a.py", "six/a.py"), "\n"),
    )
    with Workspace.open(root) as work:
        work.ingest()

    async def ask() -> tuple[Any, list[Any], str]:
        async with in_process(root) as client:
            whole = await call(client, "review_context", files=["a.c"])
            passes = [
                await call(client, "review_context", files=["a.c"], pass_number=n)
                for n in range(1, len(whole["passes"]) + 1)
            ]
            refused = await refusal(client, "review_context", files=["a.c"], pass_number=9)
            return whole, passes, refused

    whole, passes, refused = anyio.run(ask)
    assert whole["outcome"] == "sop_overflow"
    assert [each["outcome"] for each in passes] == ["complete"] * len(passes)
    assert sorted(rule for each in passes for rule in each["sop_ids"]) == whole["sop_ids"]
    assert all(each["whole_set"] == whole["sop_ids"] for each in passes)
    assert refused == f"there are {len(passes)} passes, not 9: ask for less."


def test_pages_together_have_every_entity_once(root: Path) -> None:
    async def ask() -> list[list[str]]:
        pages = []
        cursor: dict[str, str] = {}
        async with in_process(root) as client:
            while True:
                page = await call(client, "search_entities", first=2, include_chunks=True, **cursor)
                pages.append([each["id"] for each in page["entities"]])
                if "next_cursor" not in page:
                    return pages
                cursor = {"cursor": page["next_cursor"]}

    pages = anyio.run(ask)
    ids = [each for page in pages for each in page]
    assert all(len(page) == 2 for page in pages[:-1])
    assert ids == sorted(set(ids))
    assert {ERRORS, f"{ERRORS}.chunk.1", "decision.0002-rust"} <= set(ids)


def test_a_search_combines_its_conditions(root: Path) -> None:
    async def ask() -> list[list[str]]:
        async with in_process(root) as client:
            found = [
                await call(client, "search_entities", text="RUST"),
                await call(client, "search_entities", category="sop", severity="warning"),
                await call(client, "search_entities", applies_to="cmd/main.go"),
                await call(client, "search_entities", id_prefix="source.doc.sop"),
            ]
        return [[each["id"] for each in page["entities"]] for page in found]

    assert anyio.run(ask) == [
        ["decision.0002-rust"],
        ["source.doc.sops.test-coverage"],
        [ERRORS],
        [],
    ]


def test_wrong_arguments_are_all_told_at_once_with_the_remedy(root: Path) -> None:
    async def ask() -> list[str]:
        async with in_process(root) as client:
            return [
                await refusal(client, "rules_for_files", fils=["a.go"], depth=1),
                await refusal(client, "search_entities", first=0, severity="fatal", text=7),
                await refusal(client, "search_entities", cursor="bm90IG91cnM="),
                await refusal(client, "review_context"),
                await refusal(client, "review_context", files=["a.go"], diff="HEAD"),
                await refusal(client, "review_context", diff="--output=x..HEAD"),
                await refusal(client, "review_context", files=["a.go"], model="hal"),
                await refusal(client, "size_task", files=["a.go"], window=1),
                await refusal(client, "get_entity", id="source.doc.sops.error-handlin"),
                await refusal(client, "rules_for_files", files=["a\0b"]),
            ]

    assert [each.replace(str(root), "ROOT") for each in anyio.run(ask)] == snapshot(
        [
            """\
no argument 'fils': did you mean files?
no argument 'depth': there are files.
files is missing: it is required.\
""",
            """\
text: Expected `str | null`, got `int`.
severity: Invalid enum value 'fatal', not one of error, info, warning.
first: Expected `int` >= 1.\
""",
            "'bm90IG91cnM=' is not a cursor: pass next_cursor of the page before.",
            "name what is reviewed, either files or diff: neither was given.",
            "name what is reviewed, either files or diff: both were given.",
            "'--output=x' names no commit in ROOT (Needed a single revision): see `git log`.",
            "no model 'hal': known are claude-opus, claude-sonnet, gpt, local; add it under models.endpoints.",
            "a window of 1 tokens leaves -13899 for a task (13900 are reserved, 15 % are kept free): use a model with a larger window, or lower the budget in .hornbook/config.yaml.",
            "nothing has the id 'source.doc.sops.error-handlin': did you mean source.doc.sops.error-handling?",
            "files[0] has a NUL or half of a surrogate pair in it: send plain Unicode text.",
        ]
    )


def test_paths_never_leave_the_root(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"secret.txt": "the secret"})
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    outside = [
        "../secret.txt",
        str(tmp_path / "secret.txt"),
        "link.txt",
        "out/secret.txt",
        "",
        "a/..",
    ]

    async def ask() -> list[str]:
        said = []
        async with in_process(root) as client:
            for path in outside:
                for tool in ("rules_for_files", "review_context", "size_task"):
                    said.append(await refusal(client, tool, files=["handlers/user.go", path]))
            said.append(await refusal(client, "search_entities", applies_to="../x"))
            said.append(await refusal(client, "review_context", files=["*.txt"]))
            said.append(json.dumps(await call(client, "review_context", files=["loop"])))
        return said

    found = anyio.run(ask)
    assert len(found) == 3 * len(outside) + 3
    assert not any("the secret" in each for each in found)


def test_an_absolute_path_inside_the_root_is_taken(root: Path) -> None:
    async def ask() -> Any:
        async with in_process(root) as client:
            return await call(client, "rules_for_files", files=[str(root / "handlers/user.go")])

    assert anyio.run(ask)["files"][0]["path"] == "handlers/user.go"


def test_an_empty_graph_is_not_an_answer(tmp_path: Path) -> None:
    async def ask() -> list[str]:
        async with in_process(tmp_path) as client:
            assert (await client.list_resources()).resources == []
            return [
                await refusal(client, "rules_for_files", files=["a.go"]),
                await refusal(client, "get_entity", id="x"),
                await refusal(client, "search_entities"),
                await refusal(client, "size_task", files=["a.go"]),
                await refusal(client, "review_context", files=["a.go"]),
            ]

    said = f"nothing is ingested in {tmp_path} yet: run `hornbook ingest` first."
    assert anyio.run(ask) == [said] * 5


def test_resources_are_listed_completed_and_read_whole(root: Path) -> None:
    async def ask() -> list[object]:
        async with in_process(root) as client:
            rules = ResourceTemplateReference(uri="rule://{id}")
            prompt = PromptReference(name="review_change")
            read = await client.read_resource(f"rule://{ERRORS}")
            return [
                [each.uri for each in (await client.list_resources()).resources],
                [each.uri_template for each in (await client.list_resource_templates()).resource_templates],
                (await client.complete(rules, {"name": "id", "value": "error"})).completion.values,
                (await client.complete(rules, {"name": "id", "value": "source."})).completion.values,
                (await client.complete(prompt, {"name": "model", "value": "claude"})).completion.values,
                read.contents[0].text,  # type: ignore[union-attr]  # a rule is text
            ]  # fmt: skip

    both = [ERRORS, "source.doc.sops.test-coverage"]
    assert anyio.run(ask) == [
        ["decision://decision.0002-rust", *(f"rule://{each}" for each in both)],
        ["decision://{id}", "plan://{slug}", "rule://{id}"],
        [ERRORS],
        both,
        ["claude-opus", "claude-sonnet"],
        ERROR_HANDLING,
    ]


def test_a_resource_that_is_not_there_names_what_is(root: Path) -> None:
    addresses = (
        "rule://error-handling",
        "rule://decision.0002-rust",
        "plan://no-such",
        "file:///etc/passwd",
        "rule://",
        "rule:",
    )

    async def ask() -> list[str]:
        said = []
        async with in_process(root) as client:
            for address in addresses:
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(address)
                assert refused.value.code == -32602
                assert refused.value.data == {"uri": address}
                said.append(str(refused.value))
        return said

    assert anyio.run(ask) == snapshot(
        [
            "no rule has the id 'error-handling': did you mean rule://source.doc.sops.error-handling?",
            "no rule has the id 'decision.0002-rust': it is a decision, read decision://decision.0002-rust.",
            "no plan has the id 'plan.no-such': resources/list has those that there are.",
            "no resource 'file:///etc/passwd': there are decision://{id}, plan://{slug}, rule://{id}.",
            "no rule has the id '': resources/list has those that there are.",
            "no resource 'rule:': there are decision://{id}, plan://{slug}, rule://{id}.",
        ]
    )


def test_resources_come_in_pages(root: Path) -> None:
    write(root, {f"{SOPS}/r{n:03}.md": f"# R{n}\n\nText {n}.\n" for n in range(230)})
    with Workspace.open(root) as work:
        work.ingest()

    async def ask() -> list[list[str]]:
        pages, cursor = [], None
        async with in_process(root) as client:
            while True:
                page = await client.list_resources(cursor=cursor)
                pages.append([each.uri for each in page.resources])
                cursor = page.next_cursor
                if cursor is None:
                    return pages

    pages = anyio.run(ask)
    assert [len(page) for page in pages] == [100, 100, 33]
    addresses = [each for page in pages for each in page]
    assert addresses == sorted(set(addresses))


def test_the_prompt_refuses_what_it_cannot_make_whole(root: Path) -> None:
    async def ask() -> list[str]:
        said = []
        async with in_process(root) as client:
            for arguments in ({}, {"diff": "no..such"}, {"file": "a.go"}, {"files": "../x"}):
                with pytest.raises(MCPError) as refused:
                    await client.get_prompt("review_change", arguments)
                said.append(str(refused.value))
            with pytest.raises(MCPError) as refused:
                await client.get_prompt("review", {})
            said.append(str(refused.value))
        return said

    assert [each.replace(str(root), "ROOT") for each in anyio.run(ask)] == snapshot(
        [
            "name what is reviewed, either files or diff: neither was given.",
            "'no' names no commit in ROOT (Needed a single revision): see `git log`.",
            "no argument 'file': did you mean files?",
            "'../x' leads out of the root: name a path inside it.",
            "no prompt 'review': there is review_change.",
        ]
    )


def test_files_of_the_prompt_are_lines_or_commas() -> None:
    assert split_files("a.go, b.go\nsrc/*.{ts,tsx},\n") == ["a.go", "b.go", "src/*.{ts,tsx}"]


def test_an_answer_comes_from_the_newest_version(root: Path) -> None:
    async def ask() -> list[int]:
        async with in_process(root) as client:
            before = await call(client, "search_entities")
            write(root, {f"{SOPS}/new.md": "# New\n\nMUST be new.\n"})
            with Workspace.open(root) as work:
                work.ingest()
            after = await call(client, "search_entities")
        return [len(before["entities"]), len(after["entities"])]

    before, after = anyio.run(ask)
    assert after == before + 1


def test_two_clients_at_once_get_answers_of_one_version_each(root: Path) -> None:
    """While documents change in pairs, no answer has one of a pair without the other."""

    def pair(number: int) -> None:
        text = f"# T\n\nNumber {number}.\n"
        write(root, {f"{SOPS}/left.md": text, f"{SOPS}/right.md": text})
        with Workspace.open(root) as work:
            work.ingest()

    async def watch(address: str, seen: set[str], done: anyio.Event) -> None:
        async with Client(address) as client:
            while not done.is_set():
                found = await call(client, "search_entities", id_prefix="source.doc.sops")
                said = {
                    each["summary"]
                    for each in found["entities"]
                    if each["id"].endswith((".left", ".right"))
                }
                assert len(said) == 1, said
                seen |= said

    async def ask() -> set[str]:
        seen: set[str] = set()
        done = anyio.Event()
        with serving(root) as address:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch, address, seen, done)
                tasks.start_soon(watch, address, seen, done)
                for number in count(1):
                    await anyio.to_thread.run_sync(pair, number)
                    if len(seen) > 3:
                        break
                done.set()
        return seen

    pair(0)
    seen = anyio.run(ask)
    assert len(seen) > 3


def test_a_review_is_checked_with_the_receipt_that_the_server_gave(root: Path) -> None:
    lazy = {
        "verdict": "approved",
        "rejection_type": None,
        "sop_review": [{"sop_id": ERRORS, "status": "passed", "evidence": "fine"}],
        "confidence": 0.9,
        "feedback": "good",
    }

    async def ask(printed: object) -> Any:
        async with in_process(root) as client:
            receipt = await call(client, "review_context", diff="HEAD~1..HEAD")
            del receipt["text"]
            return await call(client, "check_review", review=printed, receipt=receipt)

    for printed in (lazy, f"Here it is:\n{json.dumps(lazy)}"):
        found = anyio.run(ask, printed)
        assert found["outcome"] == "invalid"
        assert {each["code"] for each in found["problems"]} == {
            "missing_sop",
            "unresolved_evidence",
        }


def test_plan_status_shows_the_active_plan(root: Path) -> None:
    async def ask() -> Any:
        async with in_process(root) as client:
            return await call(client, "plan_status")

    assert anyio.run(ask) == {"active": None, "plans": [], "plan": None}
    with Workspace.open(root) as work:
        work.plan_book().explore("Paging for users")
    found = anyio.run(ask)
    assert found["active"] == "paging-for-users"
    assert found["plans"] == [
        {"slug": "paging-for-users", "title": "Paging for users", "status": "exploring"}
    ]
    assert found["plan"]["id"] == "plan.paging-for-users"
