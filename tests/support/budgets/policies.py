"""Random policies."""

from decimal import Decimal

from hypothesis import strategies as st

from purser.budget.policies.fields import BackpressureStep, Mode
from purser.budget.policies.ladder import LadderStep
from purser.budget.policies.policy import PolicyPatch
from purser.budget.windows import Window
from purser.wire.limits import MAX_AMOUNT

LIMITS = st.one_of(st.none(), st.integers(0, 2_000), st.integers(0, MAX_AMOUNT))
RATIOS = st.decimals("0.01", "1.5", places=2)
STEPS = st.dictionaries(RATIOS, st.integers(0, 9_000), max_size=4).map(
    lambda steps: tuple(BackpressureStep(ratio, steps[ratio]) for ratio in sorted(steps))
)
SHARES = st.sampled_from([Decimal(share) for share in ("0", "0.1", "0.123456", "0.5", "0.9")])
WARNINGS = st.sets(RATIOS, max_size=3).map(lambda ratios: tuple(sorted(ratios)))


def optional(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """`strategy`, or None."""
    return st.one_of(st.none(), strategy)


LADDERS = st.dictionaries(
    RATIOS,
    st.tuples(
        st.sampled_from([(), ("gpt-4o-mini",)]),
        st.sampled_from([Decimal("0.5"), Decimal(300)]),
        st.sampled_from([None, Decimal("0.5")]),
    ),
    max_size=3,
).map(
    lambda steps: tuple(
        LadderStep(ratio, model, output, share) for ratio, (model, output, share) in sorted(steps.items())
    )
)


def patches() -> st.SearchStrategy[PolicyPatch]:
    """What one source may say."""
    return st.builds(
        PolicyPatch,
        limit_tokens=LIMITS,
        limit_nano_usd=LIMITS,
        mode=optional(st.sampled_from(Mode)),
        window=optional(st.sampled_from([*Window, "5h", "7d"])),
        timezone=optional(st.sampled_from(["UTC", "Europe/Berlin", "Asia/Tokyo"])),
        warn_at=optional(WARNINGS),
        backpressure=optional(STEPS),
        frozen=optional(st.booleans()),
        shadow=optional(st.booleans()),
        learned_holds=optional(st.sampled_from([Decimal(0), Decimal("0.5"), Decimal("0.999999")])),
        last_answer=optional(SHARES),
        ladder=optional(LADDERS),
    )
