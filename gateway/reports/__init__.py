"""`/v1/ledger`, `/v1/usage`, `/v1/changes` and audits."""
