# Every tool has one door here. 'make demo' and 'make test' need Python 3.11 and make, no more.

PYTHON ?= $(shell python3.11 -c "" 2>/dev/null && echo python3.11 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
# A module is compiled when it is first imported, and most never are: half of the set-up's time.
INSTALL := $(PIP) install --no-compile -c constraints.txt
ENVIRONMENT := $(PYTHON) -m tests.house.environment $(if $(CUDA),--cuda)
SET_UP := $(ENVIRONMENT) --folder $(VENV)

export PIP_NO_INPUT := 1
# Where it is set, nothing that is compiled would be kept.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help board report demo test test-all test-slow test-docs test-gpu test-cpus fuzz faults metrics mutants check format bench bench-quick coverage docs records release clean cards

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

# --- the environment: stamps in .venv, made again when pyproject.toml or constraints.txt change

# CUDA=1 takes torch's large build for NVIDIA GPUs where there is none.
$(VENV)/.base: pyproject.toml constraints.txt
	@$(SET_UP) demo
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt
	@$(SET_UP) docs
	@touch $(VENV)/.base $@

$(VENV)/.stamp: pyproject.toml constraints.txt
	@$(SET_UP) dev
	@touch $(VENV)/.base $(VENV)/.docs $@

# --- what people do

demo: $(VENV)/.base ## train, probe and judge a small world in under a minute; says where the page is
	@$(BIN)/inweights demo

test: $(VENV)/.stamp ## every kind of thing once, in two to three minutes; says what it tests
	@$(BIN)/python -m tests.house.tiers fast

test-slow: $(VENV)/.stamp ## the tests that take longer
	@$(BIN)/python -m tests.house.tiers slow

test-all: test test-slow ## all tests that this machine can run

test-gpu: $(VENV)/.stamp ## tests that need an accelerator
	@$(BIN)/python -m pytest tests -m gpu

test-cpus: $(VENV)/.stamp ## numerical tests under other instruction sets, kernels and threads
	@$(BIN)/python -m tests.house.cpus

# An hour or two on two cores; what the mutations find is in fuzz.jsonl, each case with all that makes
# it again. SEED draws other cases.
SEED := 0

fuzz: $(VENV)/.stamp ## 2,000 relations, 10,000 mutated commands and files, 220 kills, 200 edits, --seconds
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.relations --seed $(SEED)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.house.border
	@$(BIN)/python -m tests.fuzz.campaign --commands 10000 --files 10000 --seed $(SEED) --log fuzz.jsonl
	@place=$$(mktemp -d) && trap 'rm -rf '$$place EXIT && export OMP_NUM_THREADS=1 && \
	  $(BIN)/python -m tests.runs.random_kills $$place/tiny tests/tiny 50 $(SEED) && \
	  $(BIN)/python -m tests.runs.random_kills $$place/seal tests/tiny 40 $(SEED) 1 sealing && \
	  $(BIN)/python -m tests.runs.random_kills $$place/tuned fine-tuning 30 $(SEED) && \
	  $(BIN)/python -m tests.runs.random_kills $$place/alone tests/trainings 50 $(SEED) && \
	  $(BIN)/python -m tests.runs.random_kills $$place/jobs tests/trainings 50 $(SEED) 2 && \
	  $(BIN)/python -m tests.runs.edits $$place/edits 200 $(SEED) && \
	  $(BIN)/python -m tests.theory.limits_kept

faults: $(VENV)/.stamp ## kills of commands and of a Ray cluster, failing disks and buckets
	@place=$$(mktemp -d) && trap 'rm -rf '$$place EXIT && export OMP_NUM_THREADS=1 && \
	  for what in run refresh fresh; do \
	    $(BIN)/python -m tests.runs.kills $$place/$$what tests/tiny $$what start || exit 1; \
	  done && \
	  $(BIN)/python -m tests.runs.command_kills $$place/commands 40 $(SEED) && \
	  $(BIN)/python -m tests.runs.store_faults $$place/disks 20 $(SEED) && \
	  $(BIN)/python -m tests.experiments.bucket_faults 40 $(SEED) && \
	  $(BIN)/python -m tests.experiments.cluster_kills $$place/cluster 20 $(SEED)

mutants: $(VENV)/.stamp ## 60 small changes of the code, drawn by SEED, that the tests have to notice
	@$(BIN)/python -m tests.house.mutants --seed $(SEED)

metrics: $(VENV)/.base ## what a reader of the code has to hold in mind, against its bars
	@$(BIN)/python -m tests.house.metrics

check: $(VENV)/.stamp ## format, lint, types and words; exactly what CI runs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/python -m tests.house.words
	@$(BIN)/mypy

format: $(VENV)/.stamp ## mend what ruff can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.base ## time training, probes and solvers
	@test -n "$(wildcard benchmarks/*.py)" || { echo "there is no benchmark yet"; exit 1; }
	@set -e; for file in $(filter-out benchmarks/__main__.py,$(wildcard benchmarks/*.py)); do echo "== $$file"; $(BIN)/python $$file; done
	@set -e; for name in replicas finetuning; do echo "== benchmarks.$$name"; $(BIN)/python -m benchmarks.$$name; done
	@$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.base ## ratios of today beside the stored ones, in two minutes; part of the release
	@$(BIN)/python benchmarks/quick.py

coverage: $(VENV)/.stamp ## which lines the fast tests reach: htmlcov/
	@$(INSTALL) pytest-cov
	@$(BIN)/python -m tests.house.tiers fast --cov=inweights --cov-report=html --cov-report=term:skip-covered

docs: $(VENV)/.docs ## build the site, its notebooks executed; a warning is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "site: docs/_build/html/index.html"

test-docs: docs $(VENV)/.stamp ## open every page of the site in a browser
	@INWEIGHTS_SITE=docs/_build/html $(BIN)/python -m pytest -p no:xdist tests/docs/test_site.py

board: $(VENV)/.base ## add the scores of the runs on this disk to results/, and write docs/board.md
	@$(BIN)/inweights verify --into results --markdown > docs/board.md.partial
	@mv docs/board.md.partial docs/board.md
	@$(BIN)/python docs/_ext/pictures.py

report: $(VENV)/.docs ## write the reports, numbers from results/, as PDF and HTML: docs/_build/report/
	@$(BIN)/python docs/_ext/report.py

cards: $(VENV)/.base ## write scores, ledger, worlds and models as data sets with cards to build/cards
	@rm -rf build/cards
	@$(BIN)/python -m inweights.actions.zoo.data_sets build/cards
	@echo "written to build/cards"

records: $(VENV)/.stamp ## write what follows from the recipes: index, records of the tests; RECIPE= is timed anew
	@$(BIN)/python -m tests.house.catalogue $(RECIPE)
	@$(BIN)/python -m tests.recipes.stated
	@INWEIGHTS_WRITE=1 $(BIN)/python -m pytest -q tests/console/test_golden.py tests/house/test_defaults.py

release: bench-quick $(VENV)/.stamp ## build wheel and sdist, check them, try each on every Python that is here
	@$(PYTHON) -m tests.house.release $(if $(CUDA),--cuda)
	@$(BIN)/python -m tests.house.citation

clean: ## remove builds and caches; the environment and the runs stay
	@rm -rf build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find src tests docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
