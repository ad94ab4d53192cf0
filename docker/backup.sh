#!/usr/bin/env bash
# Backups of the databases and the files: made, checked, restored, and made again every day.
#
#   backup now                      make one, check it, and print its name
#   backup once                     the same, and remove those that are too old
#   backup daily                    make one whenever the newest is a day old, and remove those that are too old
#   backup list                     the backups that there are, newest first
#   backup check [NAME]             whether a backup (the newest) is whole and can be read
#   backup restore NAME [replace]   put one into empty databases, or in place of what is in them
#   backup healthy                  whether the newest is younger than 26 hours
#
# A backup is a folder: the dumps, the files, how many rows each table has, what it is, and the sha256 of all of these.
set -euo pipefail
umask 027

BACKUPS=${BACKUPS:-/backups}
FILES=${FILES:-/data/files}
KEEP_DAYS=${BACKUP_KEEP_DAYS:-14}
DATABASES=(bestknown)
declare -A URL=([bestknown]=${DATABASE_URL:?})
if [ -n "${MARKETPLACE_DATABASE_URL:-}" ]; then
  DATABASES+=(marketplace)
  URL[marketplace]=$MARKETPLACE_DATABASE_URL
fi

fail() {
  echo "$*" >&2
  exit 1
}

names() { # of whole backups, newest first; one that is being made, or was broken off, ends in .part
  find "$BACKUPS" -mindepth 1 -maxdepth 1 -type d -name '20*Z' -printf '%f\n' | sort --reverse
}

newest() {
  names | sed -n 1p
}

folder_of() { # name
  [ -n "${1:-}" ] || fail "There is no backup yet in $BACKUPS."
  [ -d "$BACKUPS/$1" ] || fail "There is no backup $1. There are: $(names | paste -sd ' ')"
  echo "$BACKUPS/$1"
}

sql() { # database, statement
  psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --command "$2" "${URL[$1]}"
}

rows_in() { # database, dump: "database table rows" of each table, counted in the dump itself
  pg_restore --data-only --file - "$2" | awk -v database="$1" '
    !inside && /^COPY .* FROM stdin;$/ { inside = 1; table = $2; rows = 0; next }
    inside && /^\\\.$/ { print database, table, rows; inside = 0; next }
    inside { rows++ }'
}

now() {
  [ -w "$BACKUPS" ] || fail "$BACKUPS cannot be written to. On the host: sudo install -d -o 10001 -g \"\$(id -g)\" -m 2770 backups"
  local name part database
  exec 9> "$BACKUPS/.lock" # one at a time: the daily one, and one that a person asks for
  flock 9
  name=$(date --utc +%Y-%m-%dT%H-%M-%SZ)
  while [ -e "$BACKUPS/$name" ]; do # one was made in this very second
    sleep 1
    name=$(date --utc +%Y-%m-%dT%H-%M-%SZ)
  done
  part=$BACKUPS/$name.part
  rm -rf "$BACKUPS"/*.part
  mkdir "$part"
  # The databases first: files are added and never changed, so all that the database names will be there.
  for database in "${DATABASES[@]}"; do
    pg_dump --format custom --no-owner --no-acl --file "$part/$database.dump" "${URL[$database]}"
    rows_in "$database" "$part/$database.dump" >> "$part/rows"
  done
  if [ -z "${FILES_BUCKET:-}" ]; then
    tar --create --gzip --file "$part/files.tar.gz" --directory "$FILES" . || [ $? = 1 ] # 1: a file came meanwhile
  fi
  {
    echo "made at: $name"
    echo "version: ${BESTKNOWN_VERSION:-unknown}"
    echo "PostgreSQL: $(sql bestknown 'SHOW server_version')"
    echo "databases: ${DATABASES[*]}"
    echo "files: $([ -z "${FILES_BUCKET:-}" ] && echo files.tar.gz || echo "not here, but in the bucket $FILES_BUCKET")"
  } > "$part/about"
  (cd "$part" && sha256sum -- * > SHA256SUMS)
  sync
  mv "$part" "$BACKUPS/$name"
  check "$name" > /dev/null
  echo "$name"
}

check() { # [name]
  local folder database
  folder=$(folder_of "${1:-$(newest)}")
  (cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS) || fail "The backup ${folder##*/} is damaged."
  for database in $(sed -n 's/^databases: //p' "$folder/about"); do
    pg_restore --list "$folder/$database.dump" > /dev/null || fail "The dump of $database cannot be read."
  done
  [ ! -e "$folder/files.tar.gz" ] || tar --list --gzip --file "$folder/files.tar.gz" > /dev/null
  cat "$folder/about"
  awk '{ rows[$1] += $3; tables[$1]++ } END { for (d in rows) print d ": " rows[d] " rows in " tables[d] " tables" }' "$folder/rows"
  echo "size: $(du --summarize --human-readable "$folder" | cut -f 1)"
}

restore() { # name, [replace]
  local folder database held theirs
  folder=$(folder_of "${1:-}")
  check "$1"
  theirs=$(sed -n 's/^version: //p' "$folder/about")
  if [ "$(printf '%s\n' "$theirs" "${BESTKNOWN_VERSION:-$theirs}" | sort --version-sort | tail -1)" != "${BESTKNOWN_VERSION:-$theirs}" ]; then
    fail "The backup was made by version $theirs, which is newer than $BESTKNOWN_VERSION. Restore it with that version."
  fi
  held=$(sed -n 's/^databases: //p' "$folder/about")
  for database in $held; do
    [ -n "${URL[$database]:-}" ] || fail "The backup holds the database $database, and no address is set for it."
    if [ "${2:-}" != replace ] && [ "$(sql "$database" "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")" != 0 ]; then
      fail "The database $database is not empty. To lose what is in it, say so: replace."
    fi
  done
  for database in $held; do
    # One transaction: all of it is there afterwards, or what was there before.
    {
      echo 'SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public;'
      pg_restore --no-owner --no-acl --file - "$folder/$database.dump"
    } | psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --single-transaction --output /dev/null "${URL[$database]}"
  done
  [ ! -e "$folder/files.tar.gz" ] || tar --extract --gzip --file "$folder/files.tar.gz" --directory "$FILES" --no-same-owner
  compare "$folder"
}

compare() { # folder: whether each table has the rows that the backup counted
  local database table rows found wrong=0 all=0
  while read -r database table rows; do
    found=$(sql "$database" "SELECT count(*) FROM $table")
    all=$((all + 1))
    [ "$found" = "$rows" ] || { echo "$database: $table has $found rows, and the backup has $rows." >&2; wrong=1; }
  done < "$1/rows"
  [ $wrong = 0 ] || fail "Not all is as the backup has it."
  echo "restored: $all tables have the rows that the backup counted"
}

seconds_old() { # name
  local day=${1%T*} time=${1#*T}
  echo $(($(date +%s) - $(date --utc --date "$day ${time//-/:}" +%s)))
}

prune() { # what is older than KEEP_DAYS; a new one is there when this is called
  local name
  for name in $(names | tail --lines +2); do
    [ "$(seconds_old "$name")" -le $((KEEP_DAYS * 86400)) ] || rm -rf "${BACKUPS:?}/$name"
  done
}

once() {
  now
  prune
}

daily() {
  local last
  while true; do
    last=$(newest)
    if [ -z "$last" ] || [ "$(seconds_old "$last")" -ge 86400 ]; then
      if ( now ); then prune; else echo "No backup was made. The next try is in ten minutes." >&2; sleep 540; fi
    fi
    sleep 60 &
    wait $! # so that a signal ends it at once
  done
}

healthy() {
  local last
  last=$(newest)
  [ -n "$last" ] || fail "There is no backup yet."
  [ "$(seconds_old "$last")" -lt $((26 * 3600)) ] || fail "The newest backup is $last."
}

trap 'exit 0' TERM INT
case ${1:-} in
  now | once | daily | check | restore | healthy) "$@" ;;
  list) names ;;
  *) fail "$(sed -n '2,/^$/s/^# \{0,1\}//p' "$0")" ;;
esac
