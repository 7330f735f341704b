"""The test tools of Java, PHP, Ruby and CMake: their accounts as they print them.

The outputs were recorded from small projects made for it, with the tools of Debian 12; those of
pest and .NET follow their documentation.
"""

import pytest

from hornbook.gates.cannot_fail import refusals
from hornbook.gates.test_accounts import ACCOUNTS, Account
from hornbook.gates.test_output import problem_with_tests, tools_run

MAVEN = """\
[INFO] Running CalcTest
[WARNING] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.193 s - in CalcTest
[INFO]
[INFO] Results:
[INFO]
[WARNING] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1
[INFO]
[INFO] BUILD SUCCESS
"""
MAVEN_FAILED = """\
[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0
[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0
[INFO] BUILD SUCCESS
"""
MAVEN_NONE = "[INFO] --- maven-surefire-plugin:2.22.3:test @ calc ---\n[INFO] No tests to run.\n"
GRADLE_INFO = """\
:test
Starting process 'Gradle Test Executor 1'. Working directory: /project
Gradle Test Executor 1 started executing tests.
Gradle Test Executor 1 finished executing tests.

CalcTest > later SKIPPED
Finished generating test XML results (0.006 secs) into: /project/build/test-results/test

BUILD SUCCESSFUL in 16s
"""
GRADLE_INFO_NONE = """\
:test
Finished generating test XML results (0.001 secs) into: /project/build/test-results/test

BUILD SUCCESSFUL in 13s
"""
GRADLE_FAILED = "CalcTest > adds FAILED\n\n2 tests completed, 1 failed, 1 skipped\n:test FAILED\n"
PHPUNIT = """\
OK, but incomplete, skipped, or risky tests!
Tests: 2, Assertions: 1, Skipped: 1.
"""
RAKE = "2 runs, 1 assertions, 0 failures, 0 errors, 1 skips\n"
TEST_UNIT = (
    "2 tests, 1 assertions, 0 failures, 0 errors, 0 pendings, 1 omissions, 0 notifications\n"
)
CTEST = """\
1/2 Test #1: adds .............................   Passed    0.01 sec
2/2 Test #2: later ............................***Skipped   0.00 sec

100% tests passed, 0 tests failed out of 2

Total Test time (real) =   0.01 sec

The following tests did not run:
\t  2 - later (Skipped)
"""


@pytest.mark.parametrize(
    ("tool", "output", "expected"),
    [
        ("maven", MAVEN, [Account(1)]),
        ("maven", MAVEN_FAILED, [Account(4, 2)]),
        ("maven", MAVEN_FAILED + MAVEN, [Account(4, 2), Account(1)]),
        ("maven", MAVEN_NONE, [Account(0)]),
        ("maven", "[INFO] Tests are skipped.\n", [Account(0)]),
        ("maven", "[INFO] BUILD SUCCESS\n", []),
        ("gradle", GRADLE_INFO, [Account(1)]),
        ("gradle", GRADLE_INFO_NONE, [Account(0)]),
        ("gradle", GRADLE_FAILED, [Account(1, 1)]),
        ("gradle", "> Task :app:test\n\nBUILD SUCCESSFUL in 1s\n", [Account(1)]),
        ("gradle", "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n", [Account(0)]),
        ("gradle", "> Task :test UP-TO-DATE\n> Task :a:test FROM-CACHE\n", [Account(0)]),
        ("gradle", "> Task :cleanTest\n> Task :compileTestJava\n> Task :testClasses\n", []),
        ("phpunit", "OK (3 tests, 5 assertions)\n", [Account(3)]),
        ("phpunit", PHPUNIT, [Account(1)]),
        ("phpunit", "FAILURES!\nTests: 2, Assertions: 2, Failures: 1.\n", [Account(2, 1)]),
        ("phpunit", "No tests executed!\n", [Account(0)]),
        ("pest", "  Tests:    1 failed, 2 passed (4 assertions)\n", [Account(3, 1)]),
        ("pest", "Tests:       1 passed, 1 total\n", []),
        ("rspec", "2 examples, 0 failures, 1 pending\n", [Account(1)]),
        ("rspec", "0 examples, 0 failures\n", [Account(0)]),
        ("rspec", "0 examples, 0 failures, 1 error occurred outside of examples\n", [Account(1, 1)]),
        ("minitest", RAKE, [Account(1)]),
        ("minitest", TEST_UNIT, [Account(1)]),
        ("rake", RAKE.replace("0 failures", "1 failures"), [Account(1, 1)]),
        ("ctest", CTEST, [Account(1)]),
        ("ctest", "67% tests passed, 1 tests failed out of 3\n", [Account(3, 1)]),
        ("ctest", "No tests were found!!!\n", [Account(0)]),
        ("dotnet", "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 9 ms\n", [Account(3)]),
        ("dotnet", "Test summary: total: 2, failed: 1, succeeded: 1, skipped: 0, duration: 1.0s\n", [Account(2, 1)]),
        ("dotnet", "No test is available in /project/a.dll.\n", [Account(0)]),
    ],
)  # fmt: skip
def test_a_tools_account_is_read(tool: str, output: str, expected: list[Account]) -> None:
    assert list(ACCOUNTS[tool](output)) == expected


@pytest.mark.parametrize(
    ("command", "tools"),
    [
        ("mvn -B test", ("maven",)),
        ("./mvnw -q -pl core verify", ("maven",)),
        ("mvn -B package -DskipTests", ()),
        ("mvn -B test-compile", ()),
        ("./gradlew --info cleanTest test", ("gradle",)),
        ("./gradlew :app:testDebugUnitTest", ("gradle",)),
        ("gradle testClasses", ()),
        ("vendor/bin/phpunit --testdox", ("phpunit",)),
        ("php vendor/bin/pest", ("pest",)),
        ("php artisan test", ("artisan",)),
        ("composer require --dev phpunit/phpunit", ()),
        ("bundle exec rspec", ("rspec",)),
        ("bundle exec rake test", ("rake",)),
        ("bin/rails test", ("minitest",)),
        ("ctest --test-dir build", ("ctest",)),
        ("cmake --build build --target test", ("ctest",)),
        ("cmake --build build", ()),
        ("dotnet test --nologo", ("dotnet",)),
    ],
)
def test_the_tools_of_a_command_are_known(command: str, tools: tuple[str, ...]) -> None:
    assert tools_run(command) == tools


def test_scripts_of_composer_are_followed() -> None:
    scripts = b'{"scripts": {"test": ["@lint", "@php vendor/bin/phpunit"], "lint": "phpcs"}}'
    files = {"composer.json": scripts}
    assert tools_run("composer test", files.get) == ("phpunit",)
    files["composer.json"] = b'{"scripts": {"test": "phpunit || true"}}'
    (refused,) = refusals("composer run-script test", read=files.get)
    assert "test of composer.json" in str(refused)


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("mvn -B test", MAVEN_NONE, "no tests ran (maven)"),
        ("mvn -B test", MAVEN_FAILED, "maven tells of 2 failed tests, although it ended with 0"),
        ("mvn -q test", "", "maven gave no account of tests that ran"),
        ("gradle test", "> Task :test NO-SOURCE\n", "no tests ran (gradle)"),
        ("vendor/bin/phpunit", "No tests executed!\n", "no tests ran (phpunit)"),
        ("bundle exec rspec", "0 examples, 0 failures\n", "no tests ran (rspec)"),
        ("rake test", "", "rake gave no account of tests that ran"),
        ("ctest", "No tests were found!!!\n", "no tests ran (ctest)"),
        ("make test-all", "No tests were found!!!\n", "no tests ran (ctest)"),
    ],
)
def test_no_test_and_a_failed_one_are_no_pass(command: str, output: str, said: str) -> None:
    assert (problem_with_tests(command, 0, output) or "").startswith(said)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("mvn -B test", MAVEN),
        ("gradle --info cleanTest test", GRADLE_INFO),
        ("vendor/bin/phpunit", PHPUNIT),
        ("rake test", RAKE),
        ("ctest --test-dir build", CTEST),
    ],
)
def test_tests_that_ran_pass(command: str, output: str) -> None:
    assert problem_with_tests(command, 0, output) is None


@pytest.mark.parametrize(
    "command",
    [
        "mvn -fn test",
        "mvn test -Dmaven.test.failure.ignore=true",
        "mvn test -Dtest=NONE",
        "./mvnw verify -DskipTests",
        "mvn -v",
        "gradle test --dry-run",
        "./gradlew tasks",
        "vendor/bin/phpunit --list-tests",
        "vendor/bin/phpunit --filter '^$'",
        "phpstan analyse --generate-baseline",
        "php-cs-fixer fix src",
        "rspec --dry-run",
        "bundle exec rspec --failure-exit-code 0",
        "bundle exec rubocop --auto-gen-config",
        "rubocop --fail-level fatal",
        "rake -T",
        "rake -n test",
        "ctest -N",
        "ctest -E '.*'",
        "ctest --no-tests=ignore",
        "dotnet test --list-tests",
    ],
)
def test_commands_of_these_tools_that_check_nothing_are_refused(command: str) -> None:
    assert refusals(command, name="test")


@pytest.mark.parametrize(
    "command",
    [
        "mvn -B -V -pl core -am verify",
        "./gradlew check --continue",
        "vendor/bin/phpunit --filter Calc",
        "php-cs-fixer fix --dry-run src",
        "bundle exec rspec --tag ~slow",
        "bundle exec rubocop --fail-level error",
        "bundle install && bundle exec rake test",
        "cmake -S . -B build && cmake --build build && ctest --test-dir build -R calc",
        "dotnet test --no-restore",
    ],
)
def test_honest_commands_of_these_tools_are_fine(command: str) -> None:
    assert refusals(command, name="test") == []
