# shellcheck shell=bash
# Sourced by the scripts beside it: Compose, however it is called, and a start that ends when all is healthy.
read -ra compose <<< "${COMPOSE:-docker compose}"

compose() { "${compose[@]}" "$@"; }

start() { # [option or service …]
  if [ "${ENGINE:-docker}" = docker ]; then
    compose up --detach --wait "$@"
    return
  fi
  compose up --detach "$@" # podman-compose waits for ever if it is told to wait
  local container _try
  for container in $($ENGINE ps --quiet --filter label=com.docker.compose.project="${COMPOSE_PROJECT_NAME:-bestknown}"); do
    for _try in $(seq 120); do
      $ENGINE healthcheck run "$container" > /dev/null && continue 2
      sleep 1
    done
    echo "A container is not healthy: $($ENGINE ps --filter id="$container" --format '{{.Names}}')" >&2
    return 1
  done
}
