"""The built-in detectors, the most specific first."""

from purser.context.redaction.detectors.addresses import find_emails, find_ips
from purser.context.redaction.detectors.cards import find_cards
from purser.context.redaction.detectors.codes import SIGNS_OF_CODES, find_codes
from purser.context.redaction.detectors.columns import find_columns_of_keys, find_columns_of_secrets
from purser.context.redaction.detectors.credentials import LABELS_OF_KEYS, find_cookies, find_keys, find_labelled_keys
from purser.context.redaction.detectors.identifiers import find_ibans, find_national_ids, find_ssns
from purser.context.redaction.detectors.logins import find_logins
from purser.context.redaction.detectors.passwords import (
    LABELS_OF_SECRETS,
    find_secrets,
)
from purser.context.redaction.detectors.phones import find_phones
from purser.context.redaction.findings import Detector

SPECIFIC = (
    Detector("API_KEY", find_keys),
    # Before addresses, because a password before `@host` would match as one.
    Detector("SECRET", find_logins),
    Detector("EMAIL", find_emails, ("@",)),
    # Before cards: the digits of both may also match as a card, while a country or a date makes them more specific.
    Detector("IBAN", find_ibans),
    Detector("NATIONAL_ID", find_national_ids),
    Detector("CARD", find_cards),
    Detector("SSN", find_ssns),
    Detector("API_KEY", find_labelled_keys, LABELS_OF_KEYS),
    Detector("API_KEY", find_columns_of_keys, LABELS_OF_KEYS),
    Detector("API_KEY", find_cookies, ("=",)),
    Detector("SECRET", find_secrets, LABELS_OF_SECRETS),
    Detector("SECRET", find_columns_of_secrets, LABELS_OF_SECRETS),
    Detector("SECRET", find_codes, SIGNS_OF_CODES),
    Detector("IP", find_ips),
)
LEAST_SPECIFIC = (Detector("PHONE", find_phones),)
"""Runs after configured patterns, because so many numbers could be phone numbers."""
