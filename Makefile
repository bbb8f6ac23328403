# make check: style, types, import contracts and the tests that need no build.  make test: that, and all tests that do.
# make intel: the tests of OpenCL programs on a second driver. make docs: the site and the tests of its pages.
PYTHON ?= python3
VENV := .venv
SOURCES := $(shell find src native schema tools incidents -type f -not -name '*.pyc' 2>/dev/null) meson.build pyproject.toml
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check

# Tests wait for the programs that they start: one worker more than there are processors, and no more than four.
WORKERS := $(shell n=$$(nproc 2>/dev/null || echo 1); [ $$n -lt 4 ] && echo $$((n + 1)) || echo 4)

.PHONY: check test intel demo docs bench accuracy wheel clean

# The environment for development: everything that tests need. Tests run on src/, so a change needs no new install.
$(VENV)/ready: pyproject.toml
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@echo "installing gpudx and what its tests need into $(VENV)"
	@$(PIP) '.[test]'
	@touch $(VENV)/installed $@

# The package itself as users get it.
$(VENV)/installed: $(VENV)/ready $(SOURCES)
	@$(PIP) .
	@touch $@

check: $(VENV)/ready
	@tools/check

test: check
	@tools/test tests -m "builds and not docs" -n $(WORKERS) --dist worksteal --durations 25 --durations-min 10

# What holds on one driver may not on another: all tests of OpenCL programs, on Intel's driver for CPUs.
intel: $(VENV)/ready
	@GPUDX_TEST_OPENCL=intel GPUDX_TEST_PART=1 tools/test tests -m "builds and not docs" -n $(WORKERS) --dist worksteal --durations 10 --durations-min 10

# A user's environment, without what only tests need: pip stays outside and compiles nothing in advance, which saves 70 MB.
# Where Python has no pip of its own, the environment gets one.
build/demo/ready: $(SOURCES)
	@echo "installing gpudx and an OpenCL device into build/demo"
	@if $(PYTHON) -m pip --version >/dev/null 2>&1; \
	then test -x build/demo/bin/python || $(PYTHON) -m venv --without-pip build/demo; \
	     pip="$(PYTHON) -m pip --python build/demo/bin/python"; \
	else test -x build/demo/bin/python || $(PYTHON) -m venv build/demo; \
	     pip="build/demo/bin/python -m pip"; \
	fi; \
	install="$$pip install --quiet --no-compile --disable-pip-version-check"; \
	$$install '.[demo]'
	@touch $@

demo: build/demo/ready
	@build/demo/bin/gpudx demo

# dist/gpudx-*-py3-none-manylinux_2_28_x86_64.whl
wheel:
	@tools/wheel

docs: $(VENV)/ready
	PYTHONPATH=src:tools $(VENV)/bin/python tools/docs.py
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@tools/test -q tests -m docs

bench: $(VENV)/installed
	$(VENV)/bin/python benchmarks/run_all.py

# make accuracy ARGS="--api opencl --mode run": how often gpudx is right on planted programs
accuracy: $(VENV)/installed
	$(VENV)/bin/python benchmarks/accuracy.py $(ARGS)

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
