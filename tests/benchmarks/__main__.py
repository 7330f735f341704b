"""`make bench`: every ratio in one run. `--documents` sets the sizes of the ingest runs."""

import argparse

from tests.benchmarks import (
    blindness,
    chunking,
    console_views,
    contexts,
    engine,
    glob_index,
    ingest,
    long_steps,
    mcp_calls,
    questions,
    remote_store,
    rules,
    serving,
    startup,
    steps,
    survival,
    typed_graphql,
)


def show(title: str, figures: dict[str, float]) -> None:
    """Print the figures of one benchmark as Markdown."""
    print(f"\n## {title}\n\n| what | figure |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {value:.3g} |", flush=True)


def main() -> None:
    """Run the benchmarks that were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--rules", type=int, nargs="*", default=[1_000, 10_000])
    chosen = parser.parse_args()
    show("Start-up and size", startup.measure())
    show("Chunking", chunking.measure())
    show("Glob index", glob_index.measure())
    show("Rules of files", rules.measure())
    show("Bounded questions", questions.measure())
    show("Contexts", contexts.measure(chosen.rules))
    show("Survival", survival.measure())
    show("MCP calls", mcp_calls.measure())
    show("Serving", serving.measure())
    show("Typed GraphQL", typed_graphql.measure())
    show("Views of the console", console_views.measure())
    show("Steps of the embedded developer", steps.measure())
    show("Steps by execute", long_steps.measure())
    show("Engine", engine.measure())
    show("Blindness", blindness.measure())
    show("A remote store", remote_store.measure(10_000))
    for count in chosen.documents:
        show(f"Ingest of {count} documents", ingest.measure(count))


if __name__ == "__main__":
    main()
