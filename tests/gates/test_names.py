"""The names of tests as each tool prints them.

What CTest, Mocha, Jest and Vitest print was recorded from small projects made for it; what the
others print follows their documentation.
"""

import pytest

from hornbook.gates.base_tests import unanswered
from hornbook.gates.test_names import failed_tests, skipped_tests

SUREFIRE = """\
[ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.1 s <<< FAILURE! - in CalcTest
[ERROR] org.calc.CalcTest.adds -- Time elapsed: 0.004 s <<< FAILURE!
[ERROR] breaks(org.calc.CalcTest)  Time elapsed: 0.001 s  <<< ERROR!
[WARNING] org.calc.CalcTest.later -- Time elapsed: 0 s <<< SKIPPED!
"""
GRADLE = "CalcTest > adds() FAILED\n    AssertionFailedError\n\nCalcTest > later SKIPPED\n"
PHPUNIT = """\
There was 1 error:

1) CalcTest::testBreaks
Error: x

--

There were 2 failures:

1) CalcTest::testAdds
Failed asserting that 3 is 4.

2) App\\\\CalcTest::testMore with data set #0 (1)
Failed.

--

There was 1 skipped test:

1) CalcTest::testLater
Not now.
"""
RSPEC = """\
Pending: (Failures listed here are expected and do not affect your suite's status)

  1) Calc waits
     # Not yet implemented
     # ./spec/calc_spec.rb:9

Failures:

  1) Calc adds two numbers
     Failure/Error: expect(1).to eq(2)

Failed examples:

rspec ./spec/calc_spec.rb:5 # Calc adds two numbers
"""
MINITEST = """\
  1) Failure:
CalcTest#test_adds [test/calc_test.rb:7]:
Expected: 1

  2) Error:
CalcTest#test_breaks:
NameError: x

  3) Skipped:
CalcTest#test_later [test/calc_test.rb:12]:
Not now
"""
TEST_UNIT = "Failure: test_adds(CalcTest)\n  x\n===\nOmission: test_later(CalcTest)\n"
CTEST = """\
67% tests passed, 1 tests failed out of 3

Total Test time (real) =   0.04 sec

The following tests did not run:
\t  3 - later (Skipped)
\t  4 - off (Disabled)

The following tests FAILED:
\t  1 - adds (Failed)
\t 12 - io/slow (Timeout)
Errors while running CTest
"""
MOCHA = """\
  1) alone
  sums
    of two
      2) adds five
      ✔ holds
      - waits


  1 passing (6ms)
  1 pending
  2 failing

  1) alone:
     Error: x
      at Context.<anonymous> (m/a.js:3:23)

  2) sums
       of two
         adds five:

      AssertionError [ERR_ASSERTION]: 1 == 2
"""
JEST = """\
FAIL j/a.test.js
  sums
    ✕ adds five (25 ms)
    ✓ holds (14 ms)
    ○ skipped waits

  ● sums › adds five

    expect(received).toBe(expected) // Object.is equality
"""
VITEST = """\
 × v/b.test.mjs > sums > adds five
   → expected 1 to be 2 // Object.is equality
 ✓ v/b.test.mjs > sums > holds
 ↓ v/b.test.mjs > sums > waits [skipped]

 FAIL  v/b.test.mjs > sums > adds five
AssertionError: expected 1 to be 2
"""


@pytest.mark.parametrize(
    ("output", "failed", "skipped"),
    [
        (SUREFIRE, ["org.calc.CalcTest::adds", "org.calc.CalcTest::breaks"], ["org.calc.CalcTest::later"]),
        (GRADLE, ["CalcTest > adds()"], ["CalcTest > later"]),
        (
            PHPUNIT,
            ["CalcTest::testBreaks", "CalcTest::testAdds", "App\\\\CalcTest::testMore with data set #0 (1)"],
            ["CalcTest::testLater"],
        ),
        (RSPEC, ["Calc adds two numbers"], ["Calc waits"]),
        (MINITEST, ["CalcTest#test_adds", "CalcTest#test_breaks"], ["CalcTest#test_later"]),
        (TEST_UNIT, ["test_adds(CalcTest)"], ["test_later(CalcTest)"]),
        (CTEST, ["adds", "io/slow"], ["later", "off"]),
        (MOCHA, ["alone", "sums › of two › adds five"], ["waits"]),
        (JEST, ["adds five", "sums › adds five"], ["waits"]),
        (VITEST, ["v/b.test.mjs > sums > adds five"], ["v/b.test.mjs > sums > waits"]),
        ("1) a list\n2) of prose\n- waits\nFAILED to load\n", [], []),
    ],
)  # fmt: skip
def test_each_tool_names_its_tests(output: str, failed: list[str], skipped: list[str]) -> None:
    assert list(failed_tests(output)) == failed
    assert list(skipped_tests(output)) == skipped


def test_a_review_may_name_a_test_by_its_last_word() -> None:
    names = [
        "org.calc.CalcTest::adds",
        "CalcTest > more()",
        "CalcTest#test_later",
        "CalcTest::testIt with data set #0 (1)",
        "test_unit(CalcTest)",
        "sums › of two › adds five",
    ]
    assert unanswered(names, "") == names
    said = "adds, more and test_later were wrong; CalcTest::testIt is gone, and test_unit too"
    assert unanswered(names, said) == ["sums › of two › adds five"]
