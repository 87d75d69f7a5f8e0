PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PHOTOS = $(dir $(shell $(BIN)/python -c "import skimage; print(skimage.__file__)" 2>/dev/null))data

# Python keeps the bytecode of gloam, which tests import some hundred times, also where containers say otherwise.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo kernels test test-fast test-gpu check pictures docs format clean

demo: $(VENV)/.installed
	$(BIN)/gloam build demo/set --source sample --no-select --val 2
	$(BIN)/gloam verify demo/set --deep
	$(BIN)/gloam preview --recipe train-any --recipe even --recipe night-lights --out demo/sheet.png
	@echo
	@echo "The set is in demo/set. Look at demo/sheet.png: photographs, the lows that three recipes make of them,"
	@echo "brightened, and close up. Next: . $(BIN)/activate, then gloam report demo/set --out demo/report.html"

# Once, rather than by each process of the tests at the same time; of the sources, as pip may be installing gloam again.
kernels: kernels-of-lows kernels-of-maps

kernels-of-%: $(VENV)/.installed
	@PYTHONPATH=src $(BIN)/python tests/compile_kernels.py $*

# Processes of tests share cores, where threads of theirs would only wait for one another.
test: $(VENV)/.tested kernels
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -q

test-fast: $(VENV)/.tested kernels
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -q -m "not slow"

# Everything that needs a GPU; recorded in benchmarks/results with the card's name.
test-gpu: $(VENV)/.tested
	$(BIN)/python benchmarks/gpu_tests.py

check: $(VENV)/.tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	MYPYPATH=src $(BIN)/mypy -p gloam

pictures: $(VENV)/.tested
	@mkdir -p docs/images
	$(BIN)/gloam preview $(PHOTOS)/motorcycle_left.png $(PHOTOS)/coffee.png --recipe train-any \
		--recipe even --recipe night-lights --width 220 --out docs/images/recipes.png
	$(BIN)/gloam preview $(PHOTOS)/astronaut.png --recipe even --grid exposure.ev=2,4,6 camera.iso=400,1600,6400 \
		--width 220 --out docs/images/exposure-iso.png

# Pages of reference, from docstrings, recipes and options.
docs: $(VENV)/.tested
	$(BIN)/python docs/make_reference.py

format: $(VENV)/.tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: setup.cfg pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt -e .
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt -e .[dev]
	# A server of Triton for one test: the program in this wheel, not the package, which wants other libraries.
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --no-deps nvidia-pytriton
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true  # pip does it on one core; templates are no Python
	@touch $@

clean:
	rm -rf $(VENV) demo build *.egg-info .mypy_cache .pytest_cache .ruff_cache
