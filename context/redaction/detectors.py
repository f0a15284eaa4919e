"""The detectors that are built in, the most specific first."""

from purser.context.redaction.addresses import find_emails, find_ips
from purser.context.redaction.credentials import find_keys, find_labelled_keys, find_secrets, find_url_passwords
from purser.context.redaction.findings import Detector
from purser.context.redaction.identifiers import find_cards, find_ibans, find_national_ids, find_ssns
from purser.context.redaction.phones import find_phones

SPECIFIC = (
    # In front of a host both would look like the name of a mailbox.
    Detector("SECRET", find_url_passwords),
    Detector("API_KEY", find_keys),
    Detector("EMAIL", find_emails),
    # Before cards: the digits in both may pass for a card, while they have a country or a date besides.
    Detector("IBAN", find_ibans),
    Detector("NATIONAL_ID", find_national_ids),
    Detector("CARD", find_cards),
    Detector("SSN", find_ssns),
    Detector("API_KEY", find_labelled_keys),
    Detector("SECRET", find_secrets),
    Detector("IP", find_ips),
)
LEAST_SPECIFIC = (Detector("PHONE", find_phones),)
"""Asked after configured patterns: so many numbers could be one."""
