#!/usr/bin/env bash
# Tries all of it on one machine, as CI does: usage docker/trial.sh [settings up judge crash share backup]
#
# Builds and starts what docker-compose.yml describes with secrets of its own, judges the demonstration by its link and at
# the marketplace, kills every server, shares the load over two web containers and restarts them, and loses everything and
# restores it. Needs ports 80 and 443 (or HTTP_PORT, HTTPS_PORT), and a checkout without a .env of yours. With podman (4.6
# or newer: an older one does not wait until a container is healthy):
# ENGINE=podman COMPOSE=podman-compose BUILDAH_FORMAT=docker, since another format keeps no health checks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export COMPOSE=${COMPOSE:-docker compose}
export COMPOSE_FILE=docker-compose.yml:docker/trial.yml # podman-compose reads it here alone
export SITE_HOST=site.localhost MARKETPLACE_HOST=marketplace.localhost HTTPS_PORT=${HTTPS_PORT:-443}
source docker/start.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

inside() { compose exec -T "$@"; }
manage() { inside web python manage.py "$@"; }
call() { manage call_api "$@" --as admin; }
market() { inside marketplace python -m marketplace "$@"; }
say() { echo "== $(date +%T) $*"; }
fail() { echo "$*" >&2; exit 1; }
bring() { cp "$@" exchange/; }
fetched() { test -s "exchange/$1"; }

take_key() { # the marketplace's key for the site, from $work/key
  local name
  for name in AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY; do
    sed -i "s|^#$name=.*|$name=$(sed -n "s/^${name,,} = //p" "$work/key")|" .env
  done
  start ${ENGINE:+--force-recreate} # podman-compose does not see that .env has changed
}

ask() { # seconds, address, options of curl …: the status of the answer, 000 if there is none
  local seconds=$1 address=$2 host
  shift 2
  host=$(cut -d / -f 3 <<< "$address")
  curl --silent --output /dev/null --write-out '%{http_code}' --max-time "$seconds" --cacert root.crt \
    --connect-to "$host:443:127.0.0.1:$HTTPS_PORT" "$@" "$address" || true
}

answers() { # address, how often to ask: until the answer is 200
  local _try
  for _try in $(seq "$2"); do
    [ "$(ask 20 "$1")" != 200 ] || return 0
    sleep 1
  done
  return 1
}

asking() { # file, seconds an answer may take, address: asks five times a second until the file is gone, counting what fails
  local all=0 code bad=()
  while [ -e "$1" ]; do
    code=$(ask "$2" "$3")
    all=$((all + 1))
    [ "$code" = 200 ] || bad+=("$code")
    sleep 0.2
  done
  echo "${#bad[@]} of $all requests failed${bad[*]:+: ${bad[*]}}"
}

while_asking() { # seconds an answer may take, address, command …: what failed meanwhile is in $work/lost
  local counting
  touch "$work/asking"
  asking "$work/asking" "$1" "$2" > "$work/lost" &
  counting=$!
  "${@:3}"
  rm "$work/asking"
  wait $counting
}

settings() {
  if [ -e .env ] && ! grep --quiet '^# a trial$' .env; then fail "There is a .env here. Try it in another checkout."; fi
  if [ -e .env ]; then # an earlier trial's data have other passwords, and its files are not this one's
    compose down --volumes --remove-orphans # for podman-compose, a second web container is one
    as_root rm -rf exchange backups
  fi
  sed -e "s/^SITE_HOST=$/SITE_HOST=$SITE_HOST/; s/^MARKETPLACE_HOST=$/MARKETPLACE_HOST=$MARKETPLACE_HOST/" docker/env.example > .env
  chmod 600 .env
  for name in $(sed -n 's/^\([A-Z_]*\)=$/\1/p' .env); do sed -i "s/^$name=$/$name=$(openssl rand -hex 32)/" .env; done
  {
    echo "# a trial"
    echo "HTTP_PORT=${HTTP_PORT:-80}"
    echo "HTTPS_PORT=$HTTPS_PORT"
    echo "MARKETPLACE_OPEN_REGISTRATION=on"
  } >> .env
  as_root install -d -o 10001 -g "$(id -g)" -m 2770 exchange backups
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

show() { compose ps; }
trust() { chmod 644 root.crt; }

start_proxy() {
  compose config --quiet
  compose build
  : > root.crt
  compose up --detach --no-deps proxy
}

up() {
  local _try
  say "The proxy alone, and its certificates"
  start_proxy
  for _try in $(seq 30); do
    inside proxy cat /data/caddy/pki/authorities/local/root.crt > root.crt 2> /dev/null && break
    sleep 1
  done
  trust
  say "Everything"
  start
  show
  answers "https://$SITE_HOST/healthz" 20 || fail "The site does not answer."
  answers "https://$MARKETPLACE_HOST/healthz" 20 || fail "The marketplace does not answer."
}

compared() { call get campaigns/2/publication/ledger/ | sed -n "s/^ *\"$1\": \(.*\),$/\1/p"; }

compare() {
  local before
  before=$(compared made_at)
  call post campaigns/2/publication/ledger/compare/
  while [ "$(compared made_at)" = "$before" ]; do sleep 1; done
  [ "$(compared agree)" = true ] || fail "The ledgers differ."
}

judge() {
  say "Accounts, an access key, money"
  inside -e DJANGO_SUPERUSER_PASSWORD="$(openssl rand -hex 12)" web python manage.py createsuperuser --no-input --username admin --email admin@example.org
  market create_requester "The reading lab"
  market issue_key "The reading lab" --label site > "$work/key"
  market deposit "The reading lab" 250.00
  take_key
  say "The demonstration's files, through standard input and through the exchange folder"
  manage import_collection everyday --lab "Our lab" --language en --queries - < demo/queries.tsv
  bring demo/qrels.txt demo/runs/*
  manage import_collection everyday --lab "Our lab" --qrels exchange/qrels.txt
  runs=(demo/runs/*)
  manage import_run everyday "${runs[@]/#demo\/runs/exchange}" --team ours
  manage import_collection everyday --lab "Our lab" --passages - < demo/passages.tsv
  for campaign in link platform; do # numbers 1 and 2
    call post campaigns/ --wait --json "{\"collection\": 1, \"name\": \"$campaign\", \"runs\": \"all\", \"overlap\": 1, \"reward\": \"1.50\", \"fee_rate\": \"0.2\"}"
    manage import_test_pairs $campaign - --confirmed < demo/test-pairs.tsv
  done
  for number in 1 2; do
    call post campaigns/$number/start/
    until call get campaigns/$number/ | grep '"state": "open"' > /dev/null; do sleep 1; done
  done
  say "Judged by its link"
  manage simulate_crowd link --preferences - --workers 4 < demo/oracle-preferences.txt
  manage export_campaign link --to exchange/link
  fetched link/manifest.json
  say "Judged at the marketplace"
  call patch campaigns/2/publication/ --json '{"platform": "marketplace"}'
  amount=$(call get campaigns/2/publication/ | sed -n 's/^ *"amount": "\(.*\)",$/\1/p')
  # workers come when they are simulated
  call post campaigns/2/publication/publish/ --json "{\"amount\": \"$amount\", \"although_nobody_qualifies\": true}"
  manage simulate_crowd platform --at-marketplace --preferences - --workers 4 < demo/oracle-preferences.txt
  compare
  answers "https://$SITE_HOST/healthz/all" 20 || fail "Jobs are not done."
}

servers() { echo postgres redis web marketplace worker compute beat proxy; }

kill_server() { # service
  sleep 1
  inside "$1" sh -c 'kill -9 $(cat /proc/1/task/1/children)' || true
  sleep 12
}

is_back() { inside "$1" true; }

crash() {
  local server host
  for server in $(servers); do
    host=$SITE_HOST
    [ "$server" != marketplace ] || host=$MARKETPLACE_HOST
    while_asking 20 "https://$host/healthz" kill_server "$server"
    say "$server killed: at $host, $(cat "$work/lost")"
    is_back "$server" || fail "$server did not come back by itself."
  done
  start
  answers "https://$SITE_HOST/healthz/all" 60 || fail "Jobs are not done after that."
}

container() { # number: the id of that web container, since podman-compose finds the first alone
  ${ENGINE:-docker} ps --quiet --filter "name=bestknown.web.$1"
}

inside_web() { # number, command …
  ${ENGINE:-docker} exec "$(container "$1")" "${@:2}"
}

busy() { # number: what the programs of that web container have used of the processor, in ticks
  inside_web "$1" sh -c 'cat /proc/[0-9]*/stat || true' 2> /dev/null | awk '{ used += $14 + $15 } END { print used }'
}

share_load() { # over two web containers
  local before after
  start --scale web=2 --no-recreate
  before=($(busy 1) $(busy 2))
  seq 400 | xargs -P 8 -I {} curl --silent --fail --output /dev/null --cacert root.crt \
    --connect-to "$SITE_HOST:443:127.0.0.1:$HTTPS_PORT" "https://$SITE_HOST/login/" || fail "Two web containers do not answer every request."
  after=($(busy 1) $(busy 2))
  say "Two web containers: $((after[0] - before[0])) and $((after[1] - before[1])) ticks for 400 requests"
  [ $((after[0] - before[0])) -gt 20 ] && [ $((after[1] - before[1])) -gt 20 ] || fail "One of them does nothing."
}

restart_web() { # one after the other
  local number _try
  for number in 1 2; do
    inside_web $number sh -c 'kill -TERM $(cat /proc/1/task/1/children)' || true
    sleep 3
    for _try in $(seq 60); do
      inside_web $number python docker/healthcheck.py > /dev/null 2>&1 && break
      sleep 1
    done
  done
}

share() {
  share_load
  while_asking 30 "https://$SITE_HOST/login/" restart_web
  say "Restarting one after the other: $(cat "$work/lost")"
  grep --quiet '^0 of' "$work/lost" || fail "A restart lost requests."
}

state() {
  manage shell --verbosity 0 --command "from platforms.models import Publication; print(*Publication.objects.values_list('state', flat=True))"
}

lose_and_restore() {
  local name
  make backup COMPOSE="$COMPOSE" | tee "$work/name"
  name=$(tail -n 1 "$work/name")
  say "Losing the database, the queue and the files"
  compose down --remove-orphans
  ${ENGINE:-docker} volume rm bestknown_postgres bestknown_redis bestknown_files
  make restore BACKUP="$name" COMPOSE="$COMPOSE"
}

backup() {
  local campaign
  for campaign in link platform; do manage export_campaign $campaign --to - > "$work/$campaign-before.zip"; done
  lose_and_restore
  [ "$(state)" = stopped ] || fail "The publication is not stopped."
  for campaign in link platform; do
    manage export_campaign $campaign --to - > "$work/$campaign-after.zip"
    cmp "$work/$campaign-before.zip" "$work/$campaign-after.zip" || fail "The export of $campaign is not what it was."
  done
  compare
  call post campaigns/2/publication/resume/
  [ "$(state)" = open ] || fail "The publication does not go on."
  say "Restored: the exports are the same, byte for byte"
}

try() { # [step …]
  local step
  [ $# -gt 0 ] || set -- settings up judge crash share backup
  for step in "$@"; do
    say "$step"
    $step
  done
  say "All of it works: $*"
}

[ "${BASH_SOURCE[0]}" != "$0" ] || try "$@"
