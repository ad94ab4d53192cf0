#!/usr/bin/env bash
# Restores a backup with Compose: usage docker/restore.sh NAME [replace]
#
# Nothing is touched before the backup is checked. Nothing that publishes or pays runs before every publication is stopped
# and all files are back. The site is up when this has ended; publications stay stopped until a person resumes them.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?usage: docker/restore.sh NAME [replace]}
source docker/start.sh

run() { compose run --rm --no-deps -T "$@"; }
say() { echo "== $*"; }
has() { grep --quiet --line-regexp "$1" <<< "$services"; }
services=$(compose config --services)

say "Checking the backup $name"
run backup check "$name"
say "Stopping everything"
compose down
servers=()
for server in postgres redis; do if has $server; then servers+=($server); fi; done
if [ ${#servers[@]} -gt 0 ]; then start "${servers[@]}"; fi
if has marketplace-database; then run marketplace-database; fi
say "Restoring the databases and the files"
run backup restore "$name" ${2:+"$2"}
# what was cached, and what waited in the queue, belongs to another past
run web python -c 'import os, redis; redis.Redis.from_url(os.environ["REDIS_URL"]).flushdb()'
say "Stopping every publication, before anything can publish or pay"
run migrate
run web python manage.py stop_publications --reason "restored from the backup $name" --by "$(id -un)"
say "Looking at what is there now"
run web python manage.py check_files
if has marketplace-migrate; then
  run marketplace-migrate
  run marketplace python -m marketplace verify_ledger
fi
say "Starting everything"
start
say "Done. Sync and compare the ledgers of each publication, then resume it: see docs/runbook.md."
