#!/bin/sh
# Creates the namespace of Purser's workflows if it does not exist.
set -eu

temporal operator namespace describe --namespace "$NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$NAMESPACE" --retention "$RETENTION"
