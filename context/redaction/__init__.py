"""Redaction of personal data and secrets in text before it is sent, stored, embedded or logged."""

from purser.context.redaction.clean import CleanTexts
from purser.context.redaction.findings import LABELS, Detector, Found
from purser.context.redaction.patterns import custom_detectors
from purser.context.redaction.redactor import Placeholder, Redactor
from purser.context.redaction.values import redact_value

__all__ = [
    "LABELS",
    "CleanTexts",
    "Detector",
    "Found",
    "Placeholder",
    "Redactor",
    "custom_detectors",
    "redact_value",
]
