"""Taking personal data and secrets out of text before it is sent, stored, embedded or logged."""

from context.redaction.findings import LABELS, Detector, Found
from context.redaction.redactor import Placeholder, Redactor

__all__ = ["LABELS", "Detector", "Found", "Placeholder", "Redactor"]
