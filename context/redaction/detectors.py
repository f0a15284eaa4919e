"""The detectors that are built in, the most specific first."""

from context.redaction.addresses import find_emails
from context.redaction.findings import Detector

DETECTORS = (Detector("EMAIL", find_emails),)
