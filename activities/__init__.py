"""The side effects that workflows call: one verb a file, thin, idempotent."""
