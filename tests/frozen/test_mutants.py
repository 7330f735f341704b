"""The faults of `make mutants` can be tried: neither their texts nor their tests have moved on."""

import pytest

from tests.frozen.mutants import CHECKOUT, MUTANTS, Mutant, files_with, place_of, sources


def test_the_text_of_each_fault_stands_in_the_source_once() -> None:
    texts = sources(CHECKOUT)
    assert len({place_of(mutant, texts) for mutant in MUTANTS}) > 1
    assert [mutant.name for mutant in MUTANTS if mutant.fault == mutant.text] == []


def test_the_tests_that_are_to_notice_a_fault_exist() -> None:
    assert files_with([test for mutant in MUTANTS for test in mutant.tests], CHECKOUT) != []


@pytest.mark.parametrize(("text", "told"), [("no such text", "no file"), ("import re\n", "×1")])
def test_a_text_that_stands_nowhere_or_twice_is_told(text: str, told: str) -> None:
    with pytest.raises(LookupError, match=f"^x: .*{told}.*reword it here"):
        place_of(Mutant("x", text, "", ()), sources(CHECKOUT))
