"""Random policies."""

from hypothesis import strategies as st

from purser.budget.policies import MAX_AMOUNT, BackpressureStep, Mode, PolicyPatch
from purser.budget.windows import Window

LIMITS = st.one_of(st.none(), st.integers(0, 2_000), st.integers(0, MAX_AMOUNT))
RATIOS = st.decimals("0.01", "1.5", places=2)
STEPS = st.dictionaries(RATIOS, st.integers(0, 9_000), max_size=4).map(
    lambda steps: tuple(BackpressureStep(ratio, steps[ratio]) for ratio in sorted(steps))
)
WARNINGS = st.sets(RATIOS, max_size=3).map(lambda ratios: tuple(sorted(ratios)))


def optional(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """`strategy`, or None."""
    return st.one_of(st.none(), strategy)


def patches() -> st.SearchStrategy[PolicyPatch]:
    """What one source may say."""
    return st.builds(
        PolicyPatch,
        limit_tokens=LIMITS,
        limit_nano_usd=LIMITS,
        mode=optional(st.sampled_from(Mode)),
        window=optional(st.sampled_from(Window)),
        timezone=optional(st.sampled_from(["UTC", "Europe/Berlin", "Asia/Tokyo"])),
        warn_at=optional(WARNINGS),
        backpressure=optional(STEPS),
        frozen=optional(st.booleans()),
    )
