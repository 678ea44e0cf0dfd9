# The commands that people use; everything works without make, see CONTRIBUTING.md.
PYTHON ?= .venv/bin/python

.PHONY: install test exhaustive lowest lint golden bench

install:  ## an environment with symres, as it is edited, and all that the tests need
	python3 -m venv .venv
	.venv/bin/pip install --quiet -e ".[test]"

test:  ## the fast lane
	$(PYTHON) -m pytest

exhaustive:  ## the long tests: before a release
	$(PYTHON) -m pytest -m exhaustive

# the type checker reads the annotations of the libraries, and these are for the newest: it is left out
lowest:  ## the fast lane with the lowest version of every dependency: after a change of the bounds in pyproject.toml
	python3.11 -m venv .venv-lowest
	python3.11 tests/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/pip install --quiet -e ".[test]" -c .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pytest --deselect "tests/unit/test_quality.py::test_the_code_is_clean[mypy]"

lint:  ## what the tests of the code's quality check too; formats on the way
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

golden:  ## write the golden files anew; git diff shows what changed
	$(PYTHON) -m pytest tests/golden -m "" --renew-golden

bench:  ## times and memory against other ways, by ratio
	$(PYTHON) -m tests.bench
	$(PYTHON) tests/bench/bench_averages.py
	@echo "two checkouts: $(PYTHON) tests/bench/bench_deriving.py OLD NEW"
	$(PYTHON) tests/bench/bench_kernels.py
	$(PYTHON) tests/bench/bench_networks.py
	$(PYTHON) tests/bench/bench_fluctuations.py
