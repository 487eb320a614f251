# Sakura's commands. `make run` gets a fresh clone to a running server; all else is for who works on it.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: run test soak lint bench format dev
.SILENT:

run:
	$(PYTHON) sakura_web/bootstrap.py serve

dev:
	$(PYTHON) sakura_web/bootstrap.py --dev

test: dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(ARGS)

# New examples for each property of tests/soak, SECONDS of them, two properties at a time; repeat what it found by SEED.
soak: SEED ?= $(shell date +%s)
soak: SECONDS ?= 45
soak: dev
	HYPOTHESIS_PROFILE=soak SOAK_SEED=$(SEED) SOAK_SECONDS=$(SECONDS) \
		$(BIN)/python -m pytest -n 2 -v tests/soak $(ARGS)

bench: dev
	$(BIN)/python -m benchmarks $(ARGS)

lint: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python manage.py makemigrations --check --dry-run
	SAKURA_ENV=production SAKURA_BASE_URL=https://sakura.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

format: dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
