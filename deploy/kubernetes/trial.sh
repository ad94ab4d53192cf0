#!/usr/bin/env bash
# The trial of Compose, on Kubernetes: usage deploy/kubernetes/trial.sh [settings up judge crash share backup]
#
# Makes a cluster with kind, which needs Docker and ports 80 and 443, and leaves it: kind delete cluster --name bestknown
set -euo pipefail
cd "$(dirname "$0")/../.."
source docker/trial.sh
overlay=deploy/kubernetes/trial
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)

kube() { kubectl --context kind-bestknown --namespace bestknown "$@"; }

inside() { # [-e NAME=VALUE] workload, command …
  local variables=() workload
  if [ "$1" = -e ]; then
    variables=(env "$2")
    shift 2
  fi
  workload=$1
  shift
  kube exec --quiet --stdin "deploy/$workload" -- "${variables[@]}" "$@"
}

bring() { # file …
  local file
  for file in "$@"; do inside web sh -c "cat > exchange/$(basename "$file")" < "$file"; done
}

fetched() { inside web test -s "exchange/$1"; }

show() { kube get pods; }
trust() { kube create configmap trust --from-file root.crt; }
servers() { echo postgres redis web marketplace money compute clock proxy; }
is_back() { kube wait --for condition=Ready pod --selector "app=$1" --timeout 5m; }

start() {
  local deployment
  for deployment in $(kube get deployment --output name); do kube rollout status "$deployment" --timeout 10m; done
}

settings() {
  local target secret name
  for target in app marketplace proxy backup; do docker build --target $target --tag "bestknown-$target:$version" .; done
  kind create cluster --name bestknown --config $overlay/cluster.yaml
  for target in app marketplace proxy backup; do kind load docker-image --name bestknown "bestknown-$target:$version"; done
  kube create namespace bestknown
  for secret in site marketplace servers; do
    cp "deploy/kubernetes/secrets/$secret.env" "$work/"
    for name in $(sed -n 's/^\([A-Z_]*\)=$/\1/p' "$work/$secret.env"); do
      sed -i "s/^$name=$/$name=$(openssl rand -hex 32)/" "$work/$secret.env"
    done
    kube create secret generic $secret --from-env-file "$work/$secret.env"
  done
}

start_proxy() {
  kube apply --kustomize $overlay
  kube rollout status deployment/proxy --timeout 10m
}

take_key() {
  local id secret
  id=$(sed -n 's/^aws_access_key_id = //p' "$work/key")
  secret=$(sed -n 's/^aws_secret_access_key = //p' "$work/key")
  kube patch secret site --patch "{\"stringData\": {\"AWS_ACCESS_KEY_ID\": \"$id\", \"AWS_SECRET_ACCESS_KEY\": \"$secret\"}}"
  kube rollout restart deployment
  start
}

kill_server() { # workload
  sleep 1
  kube delete pod --selector "app=$1" --grace-period 0 --force
  sleep 12
}

share_load() {
  kube scale deployment/web --replicas 2
  kube rollout status deployment/web --timeout 5m
}

restart_web() {
  kube rollout restart deployment/web
  kube rollout status deployment/web --timeout 5m
}

lose_and_restore() {
  local name database
  kube create job --from cronjob/backup trial
  kube wait --for condition=Complete job/trial --timeout 10m
  name=$(kube logs job/trial | tail -n 1)
  kube create job --from cronjob/backup-check look
  kube wait --for condition=Complete job/look --timeout 5m
  say "Losing the databases, the queue and the files"
  inside web sh -c 'rm -rf /data/files/*'
  kube scale deployment --all --replicas 0
  kube wait --for delete pod --selector 'part in (site, marketplace)' --field-selector status.phase=Running --timeout 5m
  for database in bestknown marketplace; do
    kube exec postgres-0 -- psql --username bestknown --dbname $database \
      --command "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION $database"
  done
  kube exec redis-0 -- redis-cli flushall
  kube create configmap restore --from-literal "BACKUP=$name"
  kube patch job restore --patch '{"spec": {"suspend": false}}'
  kube wait --for condition=Complete job/restore --timeout 10m
  kube delete job --selector 'part in (site, marketplace)'
  kube delete configmap restore
  kube apply --kustomize $overlay
  start
  market verify_ledger
}

try "$@"
