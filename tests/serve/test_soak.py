"""`make soak` in short: all kinds of clients at once beside ingests, and a clean end."""

from tests.benchmarks.soak import LEAST_VERSIONS, report, soak
from tests.benchmarks.soak_clients import KINDS
from tests.benchmarks.soak_workspace import numbers_in, text_of


def test_every_answer_is_whole_and_from_one_version_while_ingests_run() -> None:
    outcome = soak(10, 3, 24)
    told = "\n".join(report(outcome))
    assert outcome.seen.failures == [], told
    assert outcome.problems == [], told
    assert len(outcome.seen.answers) == len(KINDS), told
    assert len(outcome.seen.versions) >= LEAST_VERSIONS, told


def test_a_torn_document_would_be_seen() -> None:
    half, other = text_of(3, 7), text_of(3, 8)
    assert numbers_in([half, half]) == ({3: 7}, [])
    assert numbers_in([half, other]) == ({3: 8}, ["rule 3 with numbers [7, 8]"])
