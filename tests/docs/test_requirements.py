"""The rows of the source documents' requirements, and the page that is made from them."""

import pytest

from tests.tools.requirements_page import PAGE, ROWS, page, read_rows

ROW = "id\trequirement\tstatus\thow_tried\n"


def test_every_row_is_there_once_and_in_order() -> None:
    rows = read_rows(ROWS.read_text("utf-8"))
    assert [row.place for row in rows] == sorted({row.place for row in rows})


def test_no_row_claims_without_effect() -> None:
    assert not [row.id for row in read_rows(ROWS.read_text("utf-8")) if row.status == "fake"]


def test_the_page_is_what_the_rows_give() -> None:
    made = page(read_rows(ROWS.read_text("utf-8")))
    assert PAGE.read_text("utf-8") == made, "run `python -m tests.tools.requirements_page`"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id\tstatus\n", "the header"),
        (f"{ROW}S0-1\tx\tfake\tRAN\n", "'fake' is none of"),
        (f"{ROW}S0-1\tx\tworks\n", "line 2: 4 filled cells"),
        (f"{ROW}S0-1\tx\tworks\t \n", "line 2: 4 filled cells"),
    ],
)
def test_a_row_that_is_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_rows(text)
