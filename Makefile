PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test check format clean

demo: $(VENV)/.installed
	$(BIN)/gloam build demo/set --source sample --no-select --val 3
	$(BIN)/gloam verify demo/set --deep
	@echo
	@echo "The set is in demo/set. To look at a pair: tar -xf demo/set/shards/train-000000.tar -C demo"
	@echo "and open demo/*.low.png beside demo/*.normal.png. Next: $(BIN)/gloam build --help"

test: $(VENV)/.tested
	$(BIN)/python -m pytest -n auto -q

check: $(VENV)/.tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@mkdir -p .mypy_cache/src && ln -sfn ../.. .mypy_cache/src/gloam
	MYPYPATH=.mypy_cache/src $(BIN)/mypy -p gloam.manifests -p gloam.synth -p gloam.loaders -p gloam.cli

format: $(VENV)/.tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: setup.cfg pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e .[dev]
	@touch $@

clean:
	rm -rf $(VENV) demo build *.egg-info .mypy_cache .pytest_cache .ruff_cache
