#!/bin/sh
# Runs at the first start of Postgres: creates a role and databases each for Purser and for Temporal.
set -eu

secret() { cat "/run/secrets/$1"; }

psql -v ON_ERROR_STOP=1 -v purser="$(secret purser_password)" -v temporal="$(secret temporal_password)" \
  --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE purser LOGIN PASSWORD :'purser';
CREATE DATABASE purser OWNER purser;
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE CONNECT ON DATABASE purser, temporal, temporal_visibility FROM PUBLIC;
\connect purser
CREATE EXTENSION IF NOT EXISTS vector;
\connect temporal_visibility
CREATE EXTENSION IF NOT EXISTS btree_gin;
SQL
