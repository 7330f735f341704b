"""XML from strangers: refused or read, never expanded, never fetched, never an exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.context.templates.safe_xml import MAX_NODES, Element, read_xml
from hornbook.located import MAX_BYTES, MAX_DEPTH, Refusal
from tests.kit.growth import in_proportion

LAUGHS = (
    '<!DOCTYPE t [<!ENTITY a "ha">'
    + "".join('<!ENTITY %c "%s">' % (98 + n, f"&{chr(97 + n)};" * 10) for n in range(12))  # noqa: UP031
    + "]><task>&m;</task>"
)
EXTERNAL = '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><task>&x;</task>'
DECLARED = "<?xml version='1.0' encoding='{}'?>"


def refusal(data: bytes | str) -> Refusal:
    found = read_xml(data)
    assert isinstance(found, Refusal), found
    return found


def element(data: bytes | str) -> Element:
    found = read_xml(data)
    assert isinstance(found, Element), found
    return found


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        EXTERNAL,
        "<!DOCTYPE task><task/>",
        '<!DOCTYPE task SYSTEM "http://127.0.0.1:9/task.dtd"><task/>',
        '<!DOCTYPE task PUBLIC "-//x//y" "task.dtd"><task/>',
        '<!DOCTYPE t [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]><task/>',
        f"<?xml version='1.0'?><!-- > -->\n<?a b?>{LAUGHS}",
        f"\ufeff\ufeff{LAUGHS}",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_document_type_is_refused_in_every_encoding(text: str, encoding: str) -> None:
    told = refusal(text.encode(encoding)).code
    doubled = text.startswith("\ufeff") and encoding != "utf-8"
    assert told == "doctype_forbidden" or (doubled and told == "not_well_formed")


def test_a_document_type_is_refused_at_its_line() -> None:
    assert refusal("<?xml version='1.0'?>\r\n<!-- \n -->\r<!DOCTYPE t>\n<t/>").line == 4


@pytest.mark.parametrize(
    "text",
    [
        "<task/><!DOCTYPE t>",
        "<task><!DOCTYPE t></task>",
        "<!doctype t><task/>",
        "x<!DOCTYPE t><t/>",
    ],
)
def test_a_document_type_in_the_wrong_place_is_not_xml(text: str) -> None:
    assert refusal(text).code == "not_well_formed"


@pytest.mark.parametrize("hidden", ["<!-- <!DOCTYPE t> -->", "<![CDATA[<!DOCTYPE t>]]>"])
def test_the_words_alone_are_no_document_type(hidden: str) -> None:
    assert element(f"<task>{hidden}</task>").name == "task"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("UTF-7", b"+ADwAIQ-DOCTYPE t+AD4APA-t/+AD4-"),
        ("UTF-7", b"<t/>"),
        ("ISO-8859-1", b"<t/>"),
        ("cp037", b"<t/>"),
        ("rot13", b"<t/>"),
        ("hex", b"<t/>"),
        ("no-such-encoding", b"<t/>"),
        ("UTF-16", b"<t/>"),
    ],
)
def test_an_encoding_other_than_that_of_the_bytes_is_refused(encoding: str, body: bytes) -> None:
    assert refusal(DECLARED.format(encoding).encode() + body).code == "not_well_formed"


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("UTF-8", "utf-8"), ("us-ascii", "utf-8"), ("utf-8", "utf-8-sig"), ("UTF-16", "utf-16")],
)
def test_unicode_is_read(declared: str, codec: str) -> None:
    assert element((DECLARED.format(declared) + "<t>é×</t>").encode(codec)).text == "é×"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"\0",
        b"<t>\0</t>",
        b"<t/>\0",
        b"<t",
        b"<t></s>",
        b"<t/><t/>",
        b"<t a='1' a='2'/>",
        b"<t a=1/>",
        b"<t>&nbsp;</t>",
        b"<t>&#0;</t>",
        b"<t>\xff</t>",
        b"\xff\xfe\0\0<\0\0\0",
        b"\xff\xfe<",
        "<t>\ud800</t>",
        "<t>\ufffe</t>",
    ],
)
def test_what_is_not_well_formed_is_told(data: bytes | str) -> None:
    assert refusal(data).code == "not_well_formed"


def test_a_flaw_has_its_line_and_column() -> None:
    assert refusal("<t>\n  <a>\n</t>").line == 3
    assert "at column 3" in refusal("<t>\n  <a>\n</t>").message
    assert refusal(b"<t>\n\n\xff</t>").line == 3


def test_limits_are_exact() -> None:
    def nested(depth: int) -> str:
        return "<a>" * depth + "</a>" * depth

    assert element(nested(MAX_DEPTH)).children
    assert refusal(nested(MAX_DEPTH + 1)).code == "too_deep"
    pairs = "<a b='c'/>" * (MAX_NODES // 2 - 1)
    assert element(f"<t a='b'>{pairs}</t>").children
    assert refusal(f"<t a='b'>{pairs}<c/></t>").code == "too_large"
    assert refusal(f"<t>{'<a/>' * MAX_NODES}</t>").code == "too_large"
    assert element(b"<t>" + b" " * (MAX_BYTES - 7) + b"</t>").text
    assert refusal(b"<t>" + b" " * (MAX_BYTES - 6) + b"</t>").code == "too_large"


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 10_000_000,
        b"<a>" * 300_000,
        b"<t><!--" + b">" * 1_000_000,
        b"<!--" * 250_000,
        b"<?" * 500_000,
        b"<![CDATA[" * 100_000,
        b"<" + b"a" * 1_000_000 + b"/>",
        b"<t " + b" ".join(b'a%d=""' % n for n in range(100_000)) + b"/>",
    ],
)
def test_hostile_sizes_are_answered_soon(data: bytes) -> None:
    in_proportion(read_xml, data)


def test_elements_know_their_lines_and_their_own_text() -> None:
    found = element(
        "<t>\r\n a<b\n c=' x\n y '>in</b><?php exit(1) ?><!-- no -->\rz<![CDATA[<&>]]></t>"
    )
    (inner,) = found.children
    assert (found.line, inner.line) == (1, 2)
    assert found.text == "\n a\nz<&>"
    assert inner.attribute("c") == "x  y"
    assert found.value == "a\nz<&>"


def test_only_the_whitespace_of_xml_is_dropped() -> None:
    assert element("<t> \u00a0x\u2003\n</t>").value == "\u00a0x\u2003"


MARKUP = (
    *("<task", ">", "</task>", "<a", "/>", ' b="c"', "&x;", "&#38;", "<!--", "-->", "<![CDATA["),
    *("]]>", "<?x", "?>", "<!DOCTYPE t [", "]", "\0", "\r\n", "é", "\ufeff", DECLARED),
)
pieces = st.lists(st.sampled_from(MARKUP), max_size=12).map("".join)


@given(st.binary() | st.text() | pieces | pieces.map(lambda text: text.encode("utf-16")))
def test_any_bytes_get_an_answer(data: bytes | str) -> None:
    found = read_xml(data)
    assert isinstance(found, Element | Refusal)
    assert found.line >= 1
