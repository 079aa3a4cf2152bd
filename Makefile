# `make help` lists all targets.
#
# Variables: PYTHON (3.11 or newer), TORCH_SPEC and TORCH_INDEX (which torch the demonstration and the tests use),
# TOOLCHAIN (its name), SAMEHERE_HOME (the folder of toolchains and data), PYTEST_ARGS, WORKERS (tests at a time),
# ARGS (more words for `samehere serve`).
#   CPU build from PyTorch's own index:  make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu
#   CUDA build:                          make toolchain TOOLCHAIN=torch-2.13-cu130 TORCH_INDEX=https://download.pytorch.org/whl/cu130

SHELL := /bin/sh
.DEFAULT_GOAL := help

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
TORCH_SPEC ?= torch==2.13.0
TORCH_INDEX ?=
TOOLCHAIN ?= torch-2.13-cpu
PYTEST_ARGS ?=
# Tests wait more than they compute, so three at a time fill two cores.
WORKERS ?= 3
ARGS ?=

BIN := .venv/bin
PIP := $(BIN)/python -P -m pip install -qq --disable-pip-version-check --no-input

.PHONY: help setup toolchain demo test serve lint bench screenshots constraints containers clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: .venv/installed ## create .venv with everything but the development tools

.venv/pip:
	@test -n "$(PYTHON)" || { echo "samehere needs Python 3.11 or newer; name it by PYTHON=/path/to/python" >&2; exit 2; }
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -yq --no-install-recommends python3-venv; \
	  else echo "$(PYTHON) lacks venv and pip: install the python3-venv package of your distribution" >&2; exit 2; fi; fi
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade 'pip>=25.1'
	@touch $@

.venv/installed: .venv/pip pyproject.toml constraints.txt
	$(PIP) --constraint constraints.txt --editable '.[node,service,embedded,mcp,github]'
	@$(BIN)/python -P -m compileall -q samehere.py app worker migrations samehere_client
	@touch $@

.venv/dev: .venv/installed
	$(PIP) --constraint constraints.txt --group dev
	$(PIP) --constraint constraints.txt --no-deps --group generator
	@touch $@

toolchain: .venv/installed ## build the toolchain with torch, once
	$(if $(TORCH_INDEX),PIP_EXTRA_INDEX_URL='$(TORCH_INDEX)' )$(BIN)/samehere toolchain add '$(TOOLCHAIN)' '$(TORCH_SPEC)' numpy

demo: toolchain ## reproduce a report over the preset cpu-isa, and print the answer
	$(BIN)/samehere reproduce demo/logdet_singular.md --preset cpu-isa

test: .venv/dev toolchain ## run all tests: real Postgres, real broker, real sandbox
	@has_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }; \
	if ! has_browser >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get update -q && apt-get install -yq --no-install-recommends chromium; } >/dev/null 2>&1 || true; fi; \
	has_browser >/dev/null || $(BIN)/playwright install chromium >/dev/null 2>&1 \
	  || echo "no chromium can be installed: the tests marked 'browser' will say so" >&2
	@$(BIN)/python -P -m compileall -q app worker migrations samehere_client
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 10 $(PYTEST_ARGS)

serve: toolchain ## start the service on http://127.0.0.1:8000; with a recorded history: make serve ARGS=--demo
	$(BIN)/samehere serve $(ARGS)

lint: .venv/dev ## ruff, mypy, import-linter, codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

bench: .venv/dev toolchain ## measure, as ratios within one run
	@for file in bench/*.py; do echo "== $$file"; PYTHONPATH=. $(BIN)/python $$file || exit 1; done
	PYTHONPATH=. $(BIN)/python -P -m bench.reading

screenshots: .venv/dev ## draw every page in every state into docs/gallery
	PYTHONPATH=.:tests $(BIN)/python tests/web/gallery.py

# Without .venv/installed, which a contradiction between pyproject.toml and constraints.txt would stop.
constraints: .venv/pip ## write the newest versions of our dependencies into constraints.txt
	$(PIP) uv
	@echo '# Versions of everything that samehere installs for itself, written by `make constraints`.' > .venv/constraints
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links pyproject.toml --all-extras --group dev --group generator --group containers >> .venv/constraints
	@mv .venv/constraints constraints.txt

containers: .venv/installed ## try the whole compose file with podman: build, run, kill, run again, take down
	$(PIP) --constraint constraints.txt --group containers
	$(BIN)/python -P containers/trial.py $(ARGS)

clean: ## remove .venv and caches, and keep SAMEHERE_HOME
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
