#!/bin/sh
# Creates the secrets of docker-compose.yml in compose/deploy/secrets; existing files stay as they are.
set -eu
cd "$(dirname "$0")/.."
umask 077
mkdir -p secrets

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
put() { # NAME VALUE
  if [ ! -s "secrets/$1" ]; then
    printf '%s\n' "$2" > "secrets/$1"
    # Containers read them as other users; the mode of the folder keeps other users of this machine out.
    chmod 444 "secrets/$1"
    echo "made secrets/$1"
  fi
}

for name in postgres_password purser_password temporal_password metrics_token grafana_password; do
  put "$name" "$(random)"
done
put purser_dsn "postgresql://purser:$(cat secrets/purser_password)@postgres:5432/purser"
# Encrypts the secrets of webhooks.
put secrets_key "$(head -c 32 /dev/urandom | base64)"
# Provider key by host, for example {"api.openai.com": "sk-…"}.
put provider_keys '{}'
