# The commands that people use; everything works without make, see CONTRIBUTING.md.
PYTHON ?= .venv/bin/python

.PHONY: install notebooks test exhaustive lowest versions lint golden bench docs cheatsheet dist

install:  ## an environment with symres, as it is edited, and all that the tests need
	python3 -m venv .venv
	.venv/bin/pip install --quiet -e ".[test]"

test:  ## the fast lane
	$(PYTHON) -m pytest

PARTS = golden properties random_lane sabotage tables $(patsubst tests/%/,%,$(filter-out %/codegen/,$(wildcard tests/unit/*/))) \
	unit/test_*.py $(patsubst tests/%/,%,$(wildcard tests/unit/codegen/*/)) unit/codegen/test_*.py

# in parts: the compiler of XLA ends a process that has run some thousand tests of JAX; 5 is a part without long tests
exhaustive:  ## the long tests: before a release
	@failed=0; for part in $(PARTS); do echo "== $$part"; \
		$(PYTHON) -m pytest tests/$$part -m exhaustive || [ $$? -eq 5 ] || failed=1; \
	done; exit $$failed

# the type checker reads the annotations of the libraries, and these are for the newest: it is left out
lowest:  ## the fast lane with the lowest version of every dependency: after a change of the bounds in pyproject.toml
	python3.11 -m venv .venv-lowest
	python3.11 tests/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/pip install --quiet -e ".[test]" -c .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pytest --deselect "tests/unit/test_quality.py::test_the_code_is_clean[mypy]"

versions:  ## the fast lane on every supported Python that is installed
	for version in 3.11 3.12 3.13; do \
		command -v python$$version > /dev/null || { echo "no python$$version"; continue; }; \
		python$$version -m venv .venv-$$version && .venv-$$version/bin/pip install --quiet -e ".[test]" \
			&& .venv-$$version/bin/python -m pytest || exit 1; \
	done

dist:  ## wheel and sdist in dist/, checked, and the main job from the wheel in a new environment
	rm -rf dist .venv-dist
	python3 -m venv .venv-dist
	.venv-dist/bin/pip install --quiet build twine check-wheel-contents
	.venv-dist/bin/python -m build --outdir dist .
	.venv-dist/bin/twine check --strict dist/*
	.venv-dist/bin/check-wheel-contents dist/*.whl
	.venv-dist/bin/pip install --quiet dist/*.whl
	cd dist && ../.venv-dist/bin/symres derive gelu

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
	@echo "two checkouts: $(PYTHON) -m tests.bench --against COMMIT"
	$(PYTHON) tests/bench/bench_fluctuations.py

docs:  ## pages, gallery and cheat sheet into docs/_build; installs the extra docs where it is missing; LaTeX for the sheet
	@[ -x "$$(command -v $(PYTHON))" ] || python3 -m venv .venv
	@$(PYTHON) -c "import sphinx_gallery" 2> /dev/null || $(PYTHON) -m pip install --quiet -e ".[docs]"
	$(PYTHON) -m sphinx -W --keep-going -b html docs docs/_build/html
	@if command -v pdflatex >/dev/null; then $(MAKE) --no-print-directory cheatsheet; else echo "no pdflatex: no cheat sheet"; fi

notebooks:  ## run the notebooks that make docs has written: before a release
	$(PYTHON) docs/run_notebooks.py

cheatsheet:  ## one page of commands and formulas
	mkdir -p docs/_build/cheatsheet
	pdflatex -interaction=nonstopmode -halt-on-error -output-directory docs/_build/cheatsheet docs/cheatsheet.tex >/dev/null 2>&1
	cp docs/_build/cheatsheet/cheatsheet.pdf docs/_build/cheatsheet.pdf
