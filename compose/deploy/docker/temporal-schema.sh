#!/bin/sh
# Migrates both databases of Temporal to the schema of this release; repeatable.
set -eu
SQL_PASSWORD="$(cat /run/secrets/temporal_password)"
export SQL_PASSWORD

tool() { # DATABASE COMMAND…
  database="$1"
  shift
  temporal-sql-tool --plugin postgres12 --ep postgres -p 5432 -u temporal --db "$database" "$@"
}

for pair in temporal:temporal temporal_visibility:visibility; do
  database="${pair%%:*}"
  tool "$database" setup-schema -v 0.0
  tool "$database" update-schema -d "/etc/temporal/schema/postgresql/v12/${pair##*:}/versioned"
done
