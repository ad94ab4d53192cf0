# Bestknown's commands. `make help` lists them.

# Where `make run` gets its judgments: nothing for a simulated crowd, or CROWD=people.
CROWD ?=
# A folder with a collection of yours, instead of the demo.
DATA ?=
# Where the demo is published: nothing for a marketplace, or PLATFORM=prolific for a double of Prolific.
PLATFORM ?=
# Where the site answers, and its marketplace: the port after that, unless you name one.
PORT ?= 8000
MARKETPLACE_PORT ?=
PROLIFIC_PORT ?=
# Further words for pytest: make test ARGS="tests/evaluation -x"
ARGS ?=
# How large `make bench` is: nothing for small, or BENCH=full for the paper's largest design.
BENCH ?=
# How Compose is called.
COMPOSE ?= docker compose
# Any Python from 3.11 on; the first that is found unless you name one.
PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13 python3.14; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)

export PORT MARKETPLACE_PORT PROLIFIC_PORT COMPOSE
# What Python has compiled is kept, whatever the surroundings say: dozens of programs start here, each in half the time.
export PYTHONDONTWRITEBYTECODE =
.DEFAULT_GOAL := help
.PHONY: help run test storm hosts fuzz fuzz-files check advisories bench backup restore drill requirements screenshots translations settings architecture clean environment environment-dev python \
	check-lint check-format check-hosts check-names check-types check-imports check-migrations check-deploy check-kubernetes

help: ## Show this list
	@echo "make TARGET, where TARGET is:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F '|' '{ printf "%-16s %s\n", $$1, $$2 }'

run: environment ## Do the main job on the demo, then serve the site (PLATFORM=prolific CROWD=people DATA=folder PORT=8000)
	@DEVELOPMENT=1 .venv/bin/python -m local.run $(if $(PLATFORM),--platform "$(PLATFORM)") $(if $(CROWD),--crowd "$(CROWD)") $(if $(DATA),--data "$(DATA)")

test: environment-dev ## Run all tests, in a real browser too; installs one if it may (ARGS="tests/evaluation -x")
	@.venv/bin/python -m tests.browser
	@.venv/bin/python -m tests.clients.fetch
	@.venv/bin/python -m tests.hosts.install
	@DEVELOPMENT=1 .venv/bin/python -m pytest $(ARGS)

storm: environment-dev ## Run the storm at its full size: 2,000 HITs, faults of every kind, killed processes
	@DEVELOPMENT=1 STORM_HITS=2000 STORM_PROLIFIC_HITS=1000 HISTORY_STEPS=334000 .venv/bin/python -m pytest -n 0 -s tests/storm/test_storm.py tests/storm/test_prolific.py tests/histories

hosts: environment-dev ## Let 500 people work for an hour on several hosts that die, as root (HOSTS_PEOPLE=100 HOSTS_SECONDS=75)
	@.venv/bin/python -m tests.hosts.install
	@DEVELOPMENT=1 HOSTS_PEOPLE=$(or $(HOSTS_PEOPLE),500) HOSTS_SECONDS=$(or $(HOSTS_SECONDS),450) HOSTS_PAIRS=$(or $(HOSTS_PAIRS),150000) \
		.venv/bin/python -m pytest -n 0 -s tests/hosts

fuzz: environment-dev ## Send the API a hundred made-up requests of each operation (FUZZ_EXAMPLES=1000 FUZZ_ONLY="panel bundle")
	@DEVELOPMENT=1 FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),100) FUZZ_ONLY='$(FUZZ_ONLY)' .venv/bin/python -m pytest -n 0 tests/api/test_fuzz.py

fuzz-files: environment-dev ## Send each reader of files half a million inputs (READER_INPUTS=1000 READER_SEED=2)
	@DEVELOPMENT=1 READER_INPUTS=$(or $(READER_INPUTS),500000) READER_SEED=$(or $(READER_SEED),1) DIALECT_EXAMPLES=100 \
		.venv/bin/python -m pytest -n 2 tests/evaluation/test_fuzzed_files.py tests/evaluation/test_every_dialect.py

check: check-lint check-format check-hosts check-names check-types check-imports check-migrations check-deploy check-kubernetes ## Look over code and settings
	@echo "All checks passed."

check-lint: environment-dev
	@echo "== Lint: ruff check"
	@.venv/bin/python -m ruff check .

check-format: environment-dev
	@echo "== Format: ruff format --check"
	@.venv/bin/python -m ruff format --check .

check-hosts: python
	@echo "== No registry's host and no machine's folder in any file"
	@"$(PYTHON)" .ci/hosts.py

check-names: python
	@echo "== Variables named for the thing"
	@"$(PYTHON)" .ci/names.py

check-types: environment-dev
	@echo "== Types: mypy --strict"
	@DEVELOPMENT=1 .venv/bin/python -m mypy
	@DEVELOPMENT=1 .venv/bin/python -m mypy --config-file marketplace/mypy.ini

check-imports: environment-dev
	@echo "== Directions between packages: import-linter"
	@DEVELOPMENT=1 .venv/bin/lint-imports

check-migrations: environment-dev
	@echo "== Missing migrations: makemigrations --check"
	@DEVELOPMENT=1 .venv/bin/python manage.py makemigrations --check --dry-run
	@DEVELOPMENT=1 .venv/bin/python -W ignore::RuntimeWarning -m marketplace makemigrations --check --dry-run

check-deploy: environment-dev
	@echo "== Production settings: check --deploy"
	@env -u DEVELOPMENT -u DATABASE_URL -u REDIS_URL ALLOWED_HOSTS=example.org \
		SECRET_KEY="$$(.venv/bin/python -c 'import secrets; print(secrets.token_urlsafe(64))')" \
		.venv/bin/python manage.py check --deploy --fail-level WARNING
	@env -u DEVELOPMENT -u MARKETPLACE_ALLOWED_HOSTS MARKETPLACE_URL=https://example.org \
		MARKETPLACE_SECRET_KEY="$$(.venv/bin/python -c 'import secrets; print(secrets.token_urlsafe(64))')" \
		.venv/bin/python -m marketplace check --deploy --fail-level WARNING

check-kubernetes: environment-dev
	@echo "== Kubernetes: every overlay renders, and is what Kubernetes takes"
	@for overlay in deploy/kubernetes/overlays/* deploy/kubernetes/trial; do \
		manifests="$$(.venv/bin/kubectl kustomize $$overlay)" || exit 1; \
		echo "$$manifests" | .venv/bin/kubernetes-validate --strict --quiet --no-warn /dev/stdin || exit 1; \
	done

advisories: python ## Look up known advisories of what is pinned, unless they cannot be had
	@test -x .tools/bin/pip-audit || { "$(PYTHON)" -m venv .tools && .tools/bin/python -m pip install --quiet pip-audit; } || true
	@"$(PYTHON)" .ci/advisories.py

bench: environment-dev ## Measure speed and memory beside peers, in less than ten minutes (BENCH=full ARGS="packing")
	@BENCH='$(BENCH)' .venv/bin/python -m benchmarks $(ARGS)

screenshots: environment-dev ## Draw the pictures of the docs anew
	@.venv/bin/python -m tests.browser
	@DEVELOPMENT=1 .venv/bin/python -m tests.screenshots

translations: ## Compile the catalogues of both programs (needs msgfmt, of GNU gettext)
	for language in locale/* marketplace/locale/*; do msgfmt -c -o $$language/LC_MESSAGES/django.mo $$language/LC_MESSAGES/django.po || exit 1; done

settings: environment-dev ## Write the page of a campaign's settings anew
	@DEVELOPMENT=1 DJANGO_SETTINGS_MODULE=config.settings .venv/bin/python -m tests.settings_table

architecture: environment-dev ## Draw the diagram of the packages anew
	@.venv/bin/python -m tests.architecture

backup: ## Make and check a backup of what runs in Compose
	@test -e .env || { echo "make backup is for Compose, and there is no .env. With make run: stop it, and copy var/." >&2; exit 1; }
	@$(COMPOSE) run --rm --no-deps -T backup now

restore: ## Restore a backup in Compose; every publication is stopped then (BACKUP=name REPLACE=1)
	@test -n "$(BACKUP)" || { echo "Say which: make restore BACKUP=name. There are:" >&2; ls backups >&2; exit 1; }
	@docker/restore.sh "$(BACKUP)" $(if $(REPLACE),replace)

requirements: python ## Compile all requirements files from pyproject.toml
	@test -x .tools/bin/uv || { "$(PYTHON)" -m venv .tools && .tools/bin/python -m pip install --quiet uv; }
	.tools/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 \
		pyproject.toml -o requirements.txt --custom-compile-command "make requirements"
	.tools/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 \
		pyproject.toml --extra dev -c requirements.txt -o requirements-dev.txt --custom-compile-command "make requirements"
	.tools/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 \
		pyproject.toml --extra ir-datasets -c requirements.txt -o requirements-ir-datasets.txt \
		--custom-compile-command "make requirements"
	.tools/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 \
		marketplace/pyproject.toml -c requirements.txt -o requirements-marketplace.txt \
		--custom-compile-command "make requirements"
	.tools/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 \
		tests/clients/tools.in -o tests/clients/tools.txt --custom-compile-command "make requirements"

drill: ## Show that a backup of Compose brings everything back, beside the site (BACKUP=name, or the newest)
	@docker/drill.sh $(if $(BACKUP),"$(BACKUP)")

clean: ## Remove what can be made again (not var/, where the data are)
	rm -rf .venv .tools staticfiles staticfiles-marketplace .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './var/*' -prune -exec rm -rf {} +

environment: python
	@"$(PYTHON)" .ci/environment.py requirements.txt

environment-dev: python
	@"$(PYTHON)" .ci/environment.py requirements-dev.txt

python:
	@test -n "$(PYTHON)" || { echo "Bestknown needs Python 3.11 or newer, and none was found on the PATH." \
		"Install one, or name it: make run PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Bestknown needs Python" \
		"3.11 or newer, and $(PYTHON) is not that. Name another: make run PYTHON=/path/to/python3.11" >&2; exit 1; }
