"""The console's pages about rules: what binds a file, what a rule says and binds, what is wrong."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.rules.document import Chunk
from hornbook.serve.console.file_weights import weigh
from hornbook.serve.console.list_pages import part_of
from hornbook.serve.console.patches import text_patch
from hornbook.serve.console.treemap import lay_tiles
from hornbook.serve.console.views.rules import text_parts
from tests.kit.console_pages import HTML, Page, page_of
from tests.kit.git import commit, git
from tests.kit.servers import HERE, client, workspace
from tests.kit.workspaces import SOPS, write

MANY = 130
TAG = "src/<img src=x onerror=alert(1)>.py"
ODD = "src/q?a=b&c#d 100%.py"
LATER_VIEW = 40_000
HOSTILE = """\
---
category: sop
applies_to: "src/**"
severity: error
---

# <script>alert(1)</script>

You MUST [click](javascript:alert(1)) <b>raw</b> x\u202ey ![eye](https://evil.example/x.png)
"""


def _rule(number: int) -> str:
    return f'---\ncategory: sop\napplies_to: "many/**"\n---\n\n# Rule {number}\n\nIt SHOULD be.\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rules")
    git(root, "init", "-q", "-b", "main")
    write(
        root,
        {
            **{f"{SOPS}/many-{number:03}.md": _rule(number) for number in range(MANY)},
            f"{SOPS}/hostile.md": HOSTILE,
            f"{SOPS}/manual.md": "---\ncategory: sop\nactivation: manual\n---\n\n# By hand\n\nMay.\n",
            "handlers/user.go": "package handlers\n",
            "many/a.py": "x = 1\n",
            TAG: "x = 1\n",
            ODD: "x = 1\n",
            "loose.txt": "text\n",
            ".cursor/rules/gone.mdc": "",
        },
    )
    (root / ".cursor/rules/gone.mdc").unlink()
    (root / ".cursor/rules/gone.mdc").symlink_to("nowhere.mdc")
    workspace(root, "reserve: 2000")
    commit(root, {"handlers/user.go": "package handlers\n\nfunc A() {}\n"})
    commit(root, {"handlers/user.go": "package handlers\n\nfunc B() {}\n"})
    return root


@pytest.fixture(scope="module")
def browser(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


def size(browser: TestClient, path: str) -> int:
    answer = browser.get(path, headers={**HTML, "accept-encoding": "gzip"})
    return int(answer.headers["content-length"])


# Files


def test_a_file_shows_every_binding_with_pattern_line_reason_and_tokens(
    browser: TestClient, root: Path
) -> None:
    page = page_of(browser, "/files/handlers/user.go")
    with Workspace.open(root) as work:
        (answer,) = work.why(["handlers/user.go"])
    assert len(answer.rules) == 2
    for rule in answer.rules:
        assert f"{rule.path}:{rule.pattern_line}" in page.text
        assert rule.pattern in page.text
        assert f"{rule.tokens:,}" in page.text
        assert f"/rules/{rule.id}" in page.links()
    assert "The file matches the rule's pattern." in page.text
    assert "fit the room of 2,000 tokens" in page.text
    assert "as .hornbook/config.yaml says" in page.text


def test_a_file_that_is_not_there_yet_is_answered_the_same(browser: TestClient) -> None:
    page = page_of(browser, "/files/handlers/new/later.go")
    assert "not there: this is what would bind it" in page.text
    assert "Error Handling" in page.text
    led = browser.get("/files?path=./handlers/new/later.go", headers=HTML, follow_redirects=False)
    assert (led.status_code, led.headers["location"]) == (303, "/files/handlers/new/later.go")


def test_a_file_says_what_could_not_be_read_and_what_nobody_enforces(browser: TestClient) -> None:
    page = page_of(browser, "/files/loose.txt")
    assert "No rule binds this file." in page.text
    assert "Should bind it, and could not be read 1" in page.text
    assert ".cursor/rules/gone.mdc: a link that leads nowhere" in page.text
    assert "A review of this file goes to a person" in page.text
    assert "By hand" not in page.text  # the way to it is its path
    assert f"{SOPS}/manual.md" in page.text
    assert "it applies only when a person names it" in page.text


def test_a_file_whose_rules_do_not_fit_says_so_and_shows_all_of_them_in_parts(
    browser: TestClient,
) -> None:
    first = page_of(browser, "/files/many/a.py")
    assert "does not fit" in first.text
    assert f"1 to 100 of {MANY} rules" in first.text
    second = page_of(browser, "/files/many/a.py?rules=2")
    seen = {link for each in (first, second) for link in each.links() if "sops.many-" in link}
    assert len(seen) == MANY
    assert size(browser, "/files/many/a.py") <= LATER_VIEW


def test_a_file_tells_the_commits_that_touched_it(browser: TestClient, root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    assert head[:12] in page_of(browser, "/files/handlers/user.go").text


def test_a_folder_tells_how_much_of_it_is_bound_and_how_heavily(
    browser: TestClient, root: Path
) -> None:
    page = page_of(browser, "/files")
    assert "/files/handlers" in page.links()
    assert "1 over the room" in page.text
    inner = page_of(browser, "/files/handlers")
    with Workspace.open(root) as work:
        (answer,) = work.why(["handlers/user.go"])
    assert "100 %" in inner.text
    assert f"{answer.tokens:,}" in inner.text
    assert "no rule" in page_of(browser, "/files").text


@pytest.mark.parametrize("name", [TAG, ODD])
def test_a_hostile_name_leads_to_the_page_of_that_very_file(browser: TestClient, name: str) -> None:
    folder = page_of(browser, "/files/src")
    (link,) = (each for each in folder.links() if unquote(each) == f"/files/{name}")
    page = page_of(browser, link)
    assert "The file is there." in page.text
    assert f"src / {name[4:]}" in page.text
    assert "<img" not in page.answer.text


def test_a_path_that_leads_out_of_the_root_is_refused(browser: TestClient) -> None:
    assert browser.get("/files/..%2f..%2fetc/passwd", headers=HTML).status_code == 422
    assert browser.get("/files?path=/etc/passwd", headers=HTML).status_code == 422


def test_files_that_are_too_many_to_weigh_are_counted_and_not_hidden(root: Path) -> None:
    with Workspace.open(root) as work:
        found = weigh(work.ingested(), ["loose.txt", "many/a.py", "many/b.py"], 10, most=50)
    assert [each.path for each in found.files] == ["loose.txt", "many/a.py"]
    assert found.unweighed_below("many") == ("many/b.py",)
    assert found.is_folder("many")
    assert not found.is_folder("man")


@pytest.mark.parametrize(("asked", "shown"), [("1", "ab"), ("3", "e"), ("99", "e"), ("x", "ab")])
def test_a_list_is_shown_in_parts_that_together_are_all_of_it(asked: str, shown: str) -> None:
    part = part_of("abcde", {"page": asked, "q": "1"}, 2)
    assert (part.shown, part.total, part.parts) == (shown, 5, 3)
    assert (part.next is None) == (shown == "e")
    assert part.next is None or part.next == "?q=1&page=2#page"


# Rules


def test_a_rule_shows_its_text_its_patterns_with_lines_and_the_files_it_binds(
    browser: TestClient,
) -> None:
    page = page_of(browser, "/rules/source.doc.sops.test-coverage")
    assert "New functions SHOULD have tests." in page.text
    assert "handlers/**3" in page.text.replace(" ", "")
    assert "What it binds 1 file" in page.text
    assert "/files/handlers/user.go" in page.links()
    assert "No recorded review answered it." in page.text


def test_a_rule_is_shown_without_raw_html_foreign_schemes_or_pictures(browser: TestClient) -> None:
    page = page_of(browser, "/rules/source.doc.sops.hostile")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.answer.text
    assert "&lt;b&gt;raw&lt;/b&gt;" in page.answer.text
    assert "x\\u{202E}y" in page.answer.text
    assert not [each for each in page.links() if "evil" in each or "javascript" in each]


def test_the_list_of_rules_leads_through_all_of_them_and_is_small(browser: TestClient) -> None:
    seen: list[str] = []
    place: str | None = "/rules"
    while place is not None:
        page = page_of(browser, place)
        seen += [each for each in page.links() if each.startswith("/rules/")]
        assert size(browser, place) <= LATER_VIEW
        found = [each["href"] for tag, each in page.elements if each.get("rel") == "next"]
        place = f"/rules{found[0]}" if found else None
    assert len(seen) == len(set(seen)) == MANY + 5
    chosen = page_of(browser, "/rules?severity=error&text=hand")
    assert "1 rule, in the order" in chosen.text
    assert "It applies only when" not in chosen.text
    assert "it applies only when a person names it" in page_of(browser, "/rules?enforced=no").text


def test_another_pattern_is_tried_without_writing_it(browser: TestClient, root: Path) -> None:
    before = (root / SOPS / "error-handling.md").read_bytes()
    page = page_of(browser, "/rules/source.doc.sops.error-handling?glob=many/**")
    assert "It would bind 1 file: 1 more than now, and 1 of those" in page.text
    assert (root / SOPS / "error-handling.md").read_bytes() == before
    wrong = page_of(browser, "/rules/source.doc.sops.error-handling?glob=a[")
    assert "It would bind" not in wrong.text
    assert "<code>[</code>" in wrong.answer.text


ERRORS_PAGE = "/rules/source.doc.sops.error-handling"


def try_text(browser: TestClient, text: str, **fields: str) -> Page:
    sent = {"csrf": "", "text": text, **fields}
    return Page(browser.post(ERRORS_PAGE, data=sent, headers={**HTML, "origin": HERE}))


def test_other_patterns_are_replayed_over_past_changes(browser: TestClient) -> None:
    page = page_of(browser, f"{ERRORS_PAGE}?glob=loose.txt&last=5")
    assert "Of the last 2 changes 1 would have been judged otherwise" in page.text
    assert "Under those of the draft" in page.text
    same = page_of(browser, f"{ERRORS_PAGE}?glob=**/*.go&last=5")
    assert "It would bind 1 file" in same.text
    far = page_of(browser, f"{ERRORS_PAGE}?glob=loose.txt&last=101")
    assert "ask for 1 to 100" in far.text


def test_another_text_tells_what_it_would_bind_and_have_done(
    browser: TestClient, root: Path
) -> None:
    before = (root / SOPS / "error-handling.md").read_bytes()
    text = before.decode().replace("# ", "# Stricter <b> ", 1).replace("*.go", "*.txt")
    page = try_text(browser, text.replace("\n", "\r\n"))
    told = page.text.partition("Another text")[2]
    assert "It would bind 1 file: 1 more than now, and 1 of those" in told
    assert "Of the last 2 changes 2 would have been judged otherwise" in told
    assert "<b>" not in page.answer.text
    added = [each for tag, each in page.elements if tag == "tr" and each.get("class") == "added"]
    assert len(added) == text.count("*.txt") + 1
    assert (root / SOPS / "error-handling.md").read_bytes() == before


def test_the_text_as_it_is_would_change_nothing_whatever_ends_its_lines(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    rule = root / SOPS / "error-handling.md"
    rule.write_bytes(rule.read_bytes().replace(b"\n", b"\r\n"))
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Rules")
    (root / "main.go").write_text("package main\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "A change")
    with client(root) as found:
        for text in (rule.read_bytes().decode(), rule.read_text()):
            told = try_text(found, text).text.partition("Another text")[2]
            assert "the text is the same" in told
            assert "Of the last 2 changes 0 would have been judged otherwise" in told


def test_a_text_that_cannot_be_understood_is_told_with_its_line(browser: TestClient) -> None:
    page = try_text(browser, "---\ncategory: sop\napplies_to: 'a['\n---\n\n# A\n\nIt MUST.\n")
    assert "Line 3" in page.text.partition("Another text")[2]


def test_a_rule_that_changed_shows_how_and_the_page_is_of_the_file_as_it_is(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    rule = root / SOPS / "error-handling.md"
    with client(root) as found:
        rule.write_text(rule.read_text() + "3. Never <swallow> one\n")
        page = page_of(found, "/rules/source.doc.sops.error-handling")
    assert "+3. Never <swallow> one" in page.text
    assert "Revisions 2" in page.text


def test_a_rule_of_megabytes_is_shown_in_parts_that_end_where_its_chunks_do() -> None:
    chunks = [Chunk(n, "", 0, 0, 1, f"## {n}\n\n{'word ' * 4000}\n") for n in range(1, 9)]
    parts = text_parts(chunks)
    assert "".join(parts) == "".join(each.content for each in chunks)
    assert len(parts) == 4
    assert all(part.startswith("## ") for part in parts)


def test_there_is_no_page_of_a_rule_that_is_none(browser: TestClient) -> None:
    assert "there is no rule 'none'" in page_of(browser, "/rules/none", status=404).text


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", ["@@ -1,3 +1,3 @@", "a", "b", "B", "c"]),
        ("a\n" * 9 + "b\n", "a\n" * 9 + "c\n", ["@@ -7 +7 @@", "a", "a", "a", "b", "c"]),
        ("a\n", "a\r\n", ["the line ends differ"]),
    ],
)
def test_a_patch_has_the_lines_that_differ_and_where(
    before: str, after: str, shown: list[str]
) -> None:
    assert [each.text for each in text_patch(before, after)] == shown


def test_texts_that_are_too_long_to_compare_are_shown_as_exchanged() -> None:
    old, new = (["same", *(f"{name} {n}" for n in range(3000)), "end"] for name in "ab")
    lines = text_patch("\n".join(old), "\n".join(new))
    assert [each.text for each in lines if each.kind == "removed"] == old[1:-1]
    assert next((each.text, each.new) for each in lines if each.kind == "added") == ("b 0", 2)


# The map


def test_the_map_draws_every_folder_and_file_and_tells_the_same_in_a_table(
    browser: TestClient,
) -> None:
    page = page_of(browser, "/map")
    for name in ("handlers", "many", "src"):
        assert page.links().count(f"/map?by=files&under={name}") == 2
    assert page.links().count("/files/loose.txt") == 2
    kinds = {each.get("class") for tag, each in page.elements if tag == "rect"}
    assert {"good", "warn", "bad"} <= kinds
    inner = page_of(browser, "/map?under=src&by=tokens")
    assert "<img" not in inner.answer.text
    assert inner.answer.text.count("&lt;img src=x") >= 2
    assert "Nothing here has any violations." in page_of(browser, "/map?by=violations").text


def test_the_map_of_one_rule_shows_what_that_binds(browser: TestClient) -> None:
    page = page_of(browser, "/map?rule=source.doc.sops.hostile")
    assert "/map?by=files&rule=source.doc.sops.hostile&under=src" in page.links()
    kinds = [each.get("class") for tag, each in page.elements if tag == "rect"]
    assert kinds.count("good") == 1


@pytest.mark.parametrize("sizes", [[6, 6, 4, 3, 2, 2, 1], [1], [5, 0, 0], [1e6, 1, 1]])
def test_tiles_fill_the_drawing_in_proportion_and_do_not_overlap(sizes: list[float]) -> None:
    tiles = lay_tiles(sizes, 600, 400)
    whole = sum(sizes)
    assert len(tiles) == sum(size > 0 for size in sizes)
    for tile in tiles:
        assert tile.width * tile.height == pytest.approx(sizes[tile.item] / whole * 240_000)
        assert -1e-6 <= tile.x <= tile.x + tile.width <= 600 + 1e-6
        assert -1e-6 <= tile.y <= tile.y + tile.height <= 400 + 1e-6
    for one in tiles:
        for other in tiles:
            apart = (
                one.x + one.width <= other.x + 1e-6
                or other.x + other.width <= one.x + 1e-6
                or one.y + one.height <= other.y + 1e-6
                or other.y + other.height <= one.y + 1e-6
            )
            assert one is other or apart
