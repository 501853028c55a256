# GraphWalker's commands. Each one sets itself up: Python 3.11+, git and make are all it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test lint format docs setup clean another-set

PYTHON ?=
OUT ?= runs/demo
VENV := .venv
STAMP := $(VENV)/.ready
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# A tiny model gains nothing past four threads, and test workers each hold a copy of torch.
FEW := $(shell n=$(CORES); echo $$(( n < 4 ? n : 4 )))
# Some tests wait for a server or a process, so one worker more than cores.
WORKERS := $(shell n=$(CORES); echo $$(( n < 3 ? n + 1 : 4 )))
PYTEST_ARGS ?=
# The set of packages that is asked for; another one than .venv has is installed again.
CLUSTER ?=
TORCH ?=
export CLUSTER TORCH
SET := $(if $(CLUSTER),cluster,$(TORCH))

export HF_HUB_OFFLINE ?= 1
export HF_HUB_DISABLE_TELEMETRY ?= 1
export TOKENIZERS_PARALLELISM ?= false
export HF_HUB_DISABLE_PROGRESS_BARS ?= 1
export MPLBACKEND ?= Agg
# Waiting threads sleep: where they spin (the default), one other busy process costs most of the speed.
export OMP_WAIT_POLICY ?= passive

# Sizes of the road of configs/smollm2.yaml for a laptop: in float32 four rows of GRPO would take 16 GiB.
SMALL := environment.prompt=compact synth.count=640 rl.count=200 practice.count=200 experts.count=200 test.count=50 test_words.count=50 \
  sft1.batch_size=8 sft1.gradient_accumulation=4 sft1.epochs=1 sft2.batch_size=8 sft2.gradient_accumulation=4 sft2.epochs=1 \
  grpo.micro_batch=1 grpo.prompts_per_step=4 grpo.steps=8 eval.samples=0

help: ## show this list
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16
	@echo
	@echo "  make demo FULL=1         the same road with more data and training: some 50 minutes of CPU"
	@echo "  make demo MODEL=smollm2  the same road with a pretrained model, some three hours by its parts"
	@echo "  make demo CONFIG=FILE    other settings, such as configs/demo-fb15k.yaml"
	@echo "  make demo OUT=DIR        write elsewhere than runs/demo"
	@echo "  make test PYTEST_ARGS=.. for example PYTEST_ARGS='-k walks'"
	@echo "  make setup CLUSTER=1     for GPUs: CUDA torch, DeepSpeed, vLLM, Ray (TORCH=cpu|cuda: torch alone)"
	@echo "  make PYTHON=/path/to/python TARGET   choose the interpreter of the environment"

demo: $(STAMP) ## the whole pipeline on this machine, with a report at the end
ifeq ($(MODEL),smollm2)
	@echo "SmolLM2, 135 million parameters: some three hours on two idle cores by the times of its parts; the same command resumes."
	$(VENV)/bin/graphwalker model get smollm2 --out runs/models/smollm2
	$(VENV)/bin/graphwalker demo --out "$(OUT)-smollm2" --config configs/smollm2.yaml model=$(CURDIR)/runs/models/smollm2 $(SMALL)
else
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-$(FEW)} $(VENV)/bin/graphwalker demo --out "$(OUT)" $(if $(QUICK),--quick) $(if $(FULL),--full) $(if $(CONFIG),--config "$(CONFIG)") $(SETTINGS)
endif

test: $(STAMP) ## the default tests
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

lint: $(STAMP) ## ruff, ruff format and pyright
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python

docs: $(STAMP) ## the documentation as a site, in build/site; a dead link fails
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict

format: $(STAMP) ## let ruff mend and format the code
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

setup: $(STAMP) ## only make the environment (.venv)

$(STAMP): pyproject.toml constraints.txt constraints-cluster.txt scripts/setup.sh scripts/sets.sh $(if $(SET),$(if $(filter $(SET),$(shell cat $(VENV)/.set 2>/dev/null)),,another-set))
	PYTHON="$(PYTHON)" ./scripts/setup.sh
	@touch $@

another-set:

clean: ## remove the environment and what tools left behind; runs/ stays
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
