"""The index that memory searches, in Postgres."""
