# Two commands: `make demo` and `make test`. Both build and install into .venv first.
PYTHON ?= python3
VENV := .venv
SOURCES := $(shell find src native schema tools incidents -type f -not -name '*.pyc' 2>/dev/null) meson.build pyproject.toml

.PHONY: demo test bench docs clean

$(VENV)/installed: $(SOURCES)
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@echo "building and installing gpudx into $(VENV)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check '.[test]'
	@touch $@

demo: $(VENV)/installed
	@$(VENV)/bin/gpudx demo opencl-set-rows-q4_0

test: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal

docs: $(VENV)/installed
	PYTHONPATH=src $(VENV)/bin/python tools/docs.py
	$(VENV)/bin/mkdocs build --strict --quiet

bench: $(VENV)/installed
	$(VENV)/bin/python benchmarks/run_all.py

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache
