# Two commands: `make demo` and `make test`. Both build and install into .venv first.
PYTHON ?= python3
VENV := .venv
SOURCES := $(shell find src native schema tools incidents -type f -not -name '*.pyc' 2>/dev/null) meson.build pyproject.toml

# Compiled modules are kept, or every worker and every program that it starts would compile them again.
# Tests wait for the programs that they start: one worker more than there are processors, and no more than four.
WORKERS := $(shell n=$$(nproc 2>/dev/null || echo 1); [ $$n -lt 4 ] && echo $$((n + 1)) || echo 4)

.PHONY: demo test bench accuracy docs clean

$(VENV)/installed: $(SOURCES)
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@echo "building and installing gpudx into $(VENV)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check '.[test]'
	@touch $@

demo: $(VENV)/installed
	@$(VENV)/bin/gpudx demo opencl-set-rows-q4_0

test: $(VENV)/installed
	PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal --durations 25 --durations-min 10

docs: $(VENV)/installed
	PYTHONPATH=src $(VENV)/bin/python tools/docs.py
	$(VENV)/bin/mkdocs build --strict --quiet

bench: $(VENV)/installed
	$(VENV)/bin/python benchmarks/run_all.py

# make accuracy ARGS="--api opencl --mode run": how often gpudx is right on planted programs
accuracy: $(VENV)/installed
	$(VENV)/bin/python benchmarks/accuracy.py $(ARGS)

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache
