#!/usr/bin/env bash
# Shows that a backup brings everything back: usage docker/drill.sh [NAME], with the site running or not
#
# Restores the newest backup, or NAME, into servers and volumes of its own, beside the site and without touching it. Nothing
# that serves, publishes, pays or mails is started. Says how old the data are, how long it took and what is there, and takes
# all of it away again. Fails if a row, a file or a cent is missing, or if SECRET_KEY does not open what is sealed.
set -euo pipefail
cd "$(dirname "$0")/.."
source docker/start.sh
export COMPOSE_PROJECT_NAME=bestknown-drill
# wherever the site's own servers are, these are here
export DATABASE_URL='' MARKETPLACE_DATABASE_URL='' REDIS_URL=''
POSTGRES_PASSWORD=$(openssl rand -hex 32) REDIS_PASSWORD=$(openssl rand -hex 32) MARKETPLACE_POSTGRES_PASSWORD=$(openssl rand -hex 32)
export POSTGRES_PASSWORD REDIS_PASSWORD MARKETPLACE_POSTGRES_PASSWORD

run() { compose run --rm --no-deps -T "$@"; }
say() { echo "== $(date +%T) $*"; }

export COMPOSE_PROFILES=postgres,redis,backup
name=${1:-$(run backup list | head -1)}
about=$(run backup check "$name")
echo "$about"
if grep --quiet '^databases:.* marketplace' <<< "$about"; then COMPOSE_PROFILES+=,marketplace; fi
started=$SECONDS
compose down --volumes
trap 'compose down --volumes' EXIT

say "Servers of the drill's own"
start postgres redis
if [[ $COMPOSE_PROFILES = *marketplace* ]]; then run marketplace-database; fi
say "Restoring the databases and the files"
run backup restore "$name"
run migrate
run web python manage.py stop_publications --reason "a drill with the backup $name" --by drill
say "Looking at what is there"
run web python manage.py check_files
if [[ $COMPOSE_PROFILES = *marketplace* ]]; then
  run marketplace-migrate
  run marketplace python -m marketplace verify_ledger
fi
day=${name%T*} time=${name#*T}
age=$((($(date +%s) - $(date --utc --date "$day ${time//-/:}" +%s)) / 60))
say "The backup $name is whole. A disaster now would lose $age minutes of work, and cost $((SECONDS - started)) seconds to restore."
