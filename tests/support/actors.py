"""Who changes things in tests, where no key does."""

from purser.budget.actors import Actor

TESTER = Actor("test", None)
ADA = Actor("ada", None)
ANA = Actor("ana", None)
BEN = Actor("ben", None)
