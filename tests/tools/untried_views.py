"""Which views are tried in a browser, and what is said where they cannot be."""

import os
import sys

REQUIRED = "HORNBOOK_REQUIRE_BROWSER"
VIEWS = (
    "/",
    "/runs",
    "/runs/run-1",
    "/plans",
    "/plans/hello",
    "/trends",
    "/graph/plan.hello",
    "/graphql",
    "/sparql",
    "/files",
    "/files/src/app.py",
    "/rules",
    "/rules/source.doc.sops.greetings",
    "/doctor",
    "/changes",
    "/replay",
    "/map",
    "/vocabulary",
    "/docs",
    "/login",
)


def untried(why: str) -> str:
    """The line that a run without a browser ends with."""
    return f"{why}, so these views were not tried: {' '.join(VIEWS)}"


def main() -> None:
    """Say that Playwright is not to be had, which is a failure where a browser is required."""
    print(untried("Playwright could not be installed from requirements-browser.lock"))
    sys.exit(os.environ.get(REQUIRED) == "1")


if __name__ == "__main__":
    main()
