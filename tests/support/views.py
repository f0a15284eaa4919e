"""Random paths as SQL might see them, and asks with the least that they shrink to.

Limits are drawn around what is taken, so that asks fit, fit in part, fit without the holds, and do not fit, all often.
"""

from hypothesis import strategies as st

from purser.budget.gate import Amount, ScopeView
from purser.budget.policies.fields import Mode
from purser.budget.scopes import Scope
from purser.wire.limits import MAX_CALL_TOKENS
from tests.support.budgets.policies import STEPS, WARNINGS

PATH = tuple(Scope.parse(text) for text in ("tenant:t", "session:s", "task:t", "agent:t/a"))
# Small figures, so that edges are hit, and large ones, so that roundings are.
SCALES = st.sampled_from([10, 1_000, MAX_CALL_TOKENS // 8])
RARELY = st.integers(0, 19).map(lambda n: n == 19)
Wanted = tuple[Amount, Amount]
Case = tuple[list[ScopeView], list[Wanted]]


@st.composite
def views(draw: st.DrawFn, scale: int = 1_000, scope: Scope = PATH[0]) -> ScopeView:
    """One scope; `queued` only where the ledger would say it."""
    figures = st.integers(0, scale)
    spent, held = (Amount(draw(figures), draw(figures)) for _ in range(2))
    granted = Amount(draw(figures), draw(figures)) if draw(st.booleans()) else Amount()
    room = st.one_of(st.none(), st.integers(0, scale), st.integers(-scale // 2, 2 * scale))
    taken, limits = spent + held - granted, (draw(room), draw(room))
    limit_tokens = None if limits[0] is None else max(0, taken.tokens + limits[0])
    limit_nano_usd = None if limits[1] is None else max(0, taken.nano_usd + limits[1])
    mode = draw(st.sampled_from(Mode))
    shadow = draw(st.integers(0, 3).map(lambda n: n == 3))
    bounded = mode is not Mode.SOFT and limits != (None, None) and not shadow
    return ScopeView(
        scope, mode, limit_tokens, limit_nano_usd, spent, held, granted,
        frozen=draw(RARELY), shadow=shadow,
        queued=bounded and draw(RARELY), warn_at=draw(WARNINGS), backpressure=draw(STEPS),
    )  # fmt: skip


@st.composite
def asks(draw: st.DrawFn, scale: int = 1_000) -> Wanted:
    """An ask, and the least of it that makes sense."""
    full = Amount(
        draw(st.integers(1, scale)), draw(st.one_of(st.just(0), st.integers(0, scale), st.integers(0, scale)))
    )
    least = Amount(draw(st.integers(1, max(1, full.tokens // 2))), draw(st.integers(0, full.nano_usd // 2)))
    return draw(st.sampled_from([(full, least), (full, least), (full, full)]))


@st.composite
def paths(draw: st.DrawFn, scale: int = 1_000) -> list[ScopeView]:
    """One to four scopes."""
    return [draw(views(scale, scope)) for scope in PATH[: draw(st.integers(1, len(PATH)))]]


@st.composite
def cases(draw: st.DrawFn, most: int = 1) -> Case:
    """A path, and asks of its size."""
    scale = draw(SCALES)
    return draw(paths(scale)), draw(st.lists(asks(scale), min_size=1, max_size=most))
