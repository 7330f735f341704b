"""The console's page of a change: what binds it, what a reviewer gets, what was judged."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hornbook.serve.console.patches import read_patch
from hornbook.serve.http.forms import FormFile, read_form
from hornbook.serve.http.problems import HttpRefusal
from tests.kit import review_cases as cases
from tests.kit.commands import run
from tests.kit.console_pages import HTML, Page, page_of, sign_in
from tests.kit.git import commit, git, start
from tests.kit.reviews import GOOD, prepared, recorded
from tests.kit.servers import HERE, client
from tests.kit.workspaces import write

HOSTILE = "<b>\u202egpj.go"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("changes")
    settings = "serve: {deadline_seconds: 300}\nreserve: 3000\n"
    start(root, {**cases.RULES, ".hornbook/config.yaml": settings, "README.md": "# Hi\n"})
    commit(root, cases.CHANGED)
    recorded(root, GOOD)
    git(root, "checkout", "-qb", "feature/odd name#1".replace(" ", "-"))
    write(root, {HOSTILE: "package a // <script>alert(1)</script> \u202e\n"})
    git(root, "add", HOSTILE)
    git(root, "commit", "-qm", "<i>odd</i>")
    return root


@pytest.fixture(scope="module")
def browser(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


def span(root: Path, base: str = "main", head: str = "work") -> str:
    return f"{git(root, 'rev-parse', base)}..{git(root, 'rev-parse', head)}"


@pytest.fixture(scope="module")
def page(browser: TestClient, root: Path) -> Page:
    return page_of(browser, f"/changes/{span(root)}")


@pytest.mark.parametrize(
    ("named", "base", "head"),
    [
        ("main..work", "main", "work"),
        ("main...work", "main", "work"),
        ("work..feature%2Fodd-name%231", "work", "feature/odd-name#1"),
    ],
)
def test_names_lead_to_the_full_names_of_commits(
    browser: TestClient, root: Path, named: str, base: str, head: str
) -> None:
    led = browser.get(f"/changes/{named}", headers=HTML, follow_redirects=False)
    assert (led.status_code, led.headers["location"]) == (303, f"/changes/{span(root, base, head)}")


def test_what_names_no_commit_is_told_as_that(browser: TestClient) -> None:
    assert browser.get("/changes/main..nowhere", headers=HTML).status_code in {404, 422}
    assert "nowhere" in browser.get("/changes/main..nowhere", headers=HTML).text


def test_a_change_shows_every_file_with_the_rules_that_bind_it_and_why(page: Page) -> None:
    told = [each.get("title") or "" for tag, each in page.elements if tag == "span"]
    dots = [each for each in told if "/sops/" in each]
    assert len(dots) == 6
    assert dots.count("handlers/user.go (.hornbook/sources/docs/sops/error-handling.md:2)") == 1
    for path in cases.CHANGED:
        assert path in page.text
    assert "4 files, 3 rules" in page.text


def test_a_packet_is_told_complete_with_its_parts_against_the_window(page: Page) -> None:
    assert "Packet for a reviewer complete" in page.text
    assert "the room for rules, 3,000 tokens, as BASE's .hornbook/config.yaml says" in page.text
    parts = page.answer.text.partition("<th>Part</th>")[2].partition("</table>")[0]
    assert all(f">{name}<" in parts for name in ("rules", "signatures", "diff"))
    assert "svg" in {tag for tag, _ in page.elements}


def test_a_packet_that_is_refused_says_why_and_what_to_do(browser: TestClient, root: Path) -> None:
    git(root, "checkout", "-qb", "tight", "main")
    base = commit(root, {".hornbook/config.yaml": "reserve: 20\nserve: {deadline_seconds: 300}\n"})
    head = commit(root, {"handlers/new.go": "package handlers\n"})
    refused = page_of(browser, f"/changes/{base}..{head}")
    assert "No reviewer is handed this change as it is" in refused.text
    assert "20 are reserved" in refused.text
    assert "of a packet that is refused only the rules are counted" in refused.text


def test_a_recorded_review_leads_from_each_citation_to_its_line(page: Page) -> None:
    assert "approved" in page.text.partition("Recorded reviews 1")[2]
    cited = [each for each in page.links() if each.startswith("#f") and each != "#files"]
    rows = {each.get("id") for tag, each in page.elements if tag == "tr"}
    assert cited
    assert {each.partition("#")[2] for each in cited} <= rows
    place = next(each for tag, each in page.elements if (each.get("id") or "") == "f2-7")
    assert "cited" in (place.get("class") or "")
    assert "The judgement knew of no gates." in page.text


def test_a_record_that_was_altered_counts_for_nothing(browser: TestClient, root: Path) -> None:
    (path,) = (root / ".hornbook/records/reviews").glob("*.json")
    before = path.read_text()
    path.write_text(before.replace('"outcome": "approved"', '"outcome": "rejected"'))
    try:
        altered = page_of(browser, f"/changes/{span(root)}")
    finally:
        path.write_text(before)
    assert "This record counts for nothing" in altered.text


def test_hostile_names_and_lines_are_shown_and_never_run(browser: TestClient, root: Path) -> None:
    shown = page_of(browser, f"/changes/{span(root, 'work', 'feature/odd-name#1')}")
    assert "&lt;script&gt;alert(1)" in shown.answer.text
    assert "&lt;b&gt;\\u{202E}gpj.go" in shown.answer.text
    assert "\u202e" not in shown.answer.text
    assert "Not what is seen of it" in shown.text
    listed = page_of(browser, "/changes")
    assert "<i>" not in listed.answer.text
    assert len([each for each in listed.links() if ".." in each]) >= 2


def test_a_patch_is_read_with_the_numbers_of_both_sides() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@\n same\n--- gone\n+++ come\n+more\n\\ No newline\n"
    found = [(each.kind, each.old, each.new, each.text) for each in read_patch(patch)[1:]]
    assert found == [
        ("same", 3, 3, "same"),
        ("removed", 4, None, "-- gone"),
        ("added", None, 4, "++ come"),
        ("added", None, 5, "more"),
        ("note", None, None, "No newline"),
    ]


# Packets and reviews that are dropped

RECEIPT_FIRST = "no receipt says what the reviewer was given"


def drop(
    browser: TestClient, root: Path, *files: tuple[str, bytes], **fields: str
) -> tuple[int, Page]:
    """Send the form of a change's page as a browser does, and follow where it leads."""
    place = f"/changes/{span(root)}"
    csrf = page_of(browser, place).fields(f"{place}#checked")["csrf"]
    sent = [("files", (name, data, "application/json")) for name, data in files]
    answer = browser.post(
        place,
        data={"csrf": csrf, "do": "check", **fields},
        files=sent or [("files", ("", b"", "application/octet-stream"))],
        headers={**HTML, "origin": HERE},
    )
    return answer.status_code, Page(answer)


def receipt_of(root: Path) -> bytes:
    return json.dumps(prepared(root)[0]).encode()


def test_a_packet_is_downloaded_as_the_command_writes_it(
    browser: TestClient, root: Path, page: Page, tmp_path: Path
) -> None:
    run(root, "review", "prepare", "--diff", span(root), "--output", str(tmp_path))
    links = [each for each in page.links() if each.startswith("/packets/")]
    names = ("packet.zip", "prompt.md", "receipt.json", "review.schema.json")
    assert [each.rpartition("/")[2] for each in links] == list(names)
    with zipfile.ZipFile(io.BytesIO(browser.get(links[0]).content)) as archive:
        for link, name in zip(links[1:], names[1:], strict=True):
            written = (tmp_path / name).read_bytes()
            assert browser.get(link).content == written == archive.read(name)


def test_a_review_is_judged_with_each_citation_at_its_line(browser: TestClient, root: Path) -> None:
    before = list((root / ".hornbook/records/reviews").iterdir())
    status, found = drop(browser, root, ("mine.json", GOOD), ("r.json", receipt_of(root)))
    told = found.text.partition("The review that you gave")[2].partition("Recorded reviews")[0]
    assert status == 200
    assert told.startswith(" approved")
    assert "not recorded" in told
    assert "3 of 3 rules are answered" in told
    assert "mine.json" in told
    part = found.answer.text.partition('id="checked"')[2].partition('id="reviews"')[0]
    cited = set(re.findall(r'href="#(f[0-9]+-[0-9]+)"', part))
    assert cited
    assert cited <= {each.get("id") for tag, each in found.elements if tag == "tr"}
    assert list((root / ".hornbook/records/reviews").iterdir()) == before


def test_a_review_that_proves_nothing_is_told_invalid_with_every_problem(
    browser: TestClient, root: Path
) -> None:
    _, found = drop(browser, root, ("r.json", receipt_of(root)), review="I looked, all is well.")
    assert "The review that you gave invalid" in found.text
    assert "unparsable" in found.text


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ((), "there are 0 reviews"),
        ((("gates.json", b'{"passed": true, "gates": [1]}'),), "the gate results cannot be read"),
    ],
)
def test_what_cannot_be_judged_is_told_with_a_remedy(
    browser: TestClient, root: Path, files: tuple[tuple[str, bytes], ...], said: str
) -> None:
    status, found = drop(browser, root, *files)
    assert status == 422
    assert f"Nothing was judged: {said}" in found.text


def test_a_person_keeps_a_receipt_and_records_a_review_by_it(tmp_path: Path) -> None:
    root = tmp_path
    start(root, {**cases.RULES, ".hornbook/config.yaml": "serve: {deadline_seconds: 300}\n"})
    commit(root, cases.CHANGED)
    with client(root, named=False) as browser:
        assert drop(browser, root, ("mine.json", GOOD))[0] == 422
        refused = drop(browser, root, ("mine.json", GOOD), record="yes")
        assert refused[0] == 401
        sign_in(browser, root)
        status, found = drop(browser, root, ("mine.json", GOOD))
        assert (status, RECEIPT_FIRST in found.text) == (422, True)
        status, found = drop(browser, root, do="keep")
        assert (status, "Its receipt is kept here." in found.text) == (200, True)
        status, found = drop(browser, root, ("mine.json", GOOD), record="yes")
        assert "The review is judged and recorded" in found.text
        assert "Recorded reviews 1" in found.text
        assert len(list((root / ".hornbook/records/reviews").glob("*.json"))) == 1
        lost = browser.post(
            f"/changes/{span(root)}",
            data={"do": "keep"},
            files={"files": ("", b"")},
            headers={**HTML, "origin": HERE},
        )
        assert (lost.status_code, "load the page again" in lost.text) == (403, True)


def test_a_form_with_files_is_read_byte_by_byte() -> None:
    head = b'Content-Disposition: form-data; name="%s"'
    body = (
        b"--xy\r\n"
        + head % b"a"
        + b"\r\n\r\n\xc3\xa4\r\nb\r\n--xy\r\n"
        + head % b'f"; filename="n\\"m.json'
        + b"\r\nContent-Type: text/plain\r\n\r\n\x00\r\n--x\r\n\r\n--xy--\r\n"
    )
    found = read_form(body, "multipart/form-data; boundary=xy")
    assert found.fields == {"a": "ä\r\nb"}
    assert found.files == (FormFile("f", 'n"m.json', b"\x00\r\n--x\r\n"),)
    with pytest.raises(HttpRefusal, match="more than 100 fields"):
        read_form(b"--xy\r\n\r\n\r\n" * 200, "multipart/form-data; boundary=xy")
    with pytest.raises(HttpRefusal, match="boundary"):
        read_form(b"", "multipart/form-data")
