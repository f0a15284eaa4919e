"""Segmentation of Chinese text into index terms.

Words come from a dictionary, and short ones inside long ones count too (博物馆, 博物). A dictionary lacks names and
splits them at random, so characters and overlapping pairs are terms as well.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby

_STOP_WORDS = """
    的 地 得 了 着 过 吗 呢 吧 啊 呀 嘛 么 哦 嗯 哈 啦 哇 哎 唉 和 与 及 或 也 都 就 还 又 很 太 更 挺 不 没
    没有 不是 我 你 您 他 她 它 咱 我们 你们 他们 她们 它们 咱们 自己 大家 这 那 这个 那个 这些 那些 这样 那样
    这么 那么 这里 那里 这儿 那儿 什么 怎么 怎样 怎么样 如何 为什么 为何 哪 哪个 哪些 哪里 哪儿 哪位 谁 多少 几
    几个 知道 可以 能 会 要 想 让 给 把 被 对 从 到 向 往 跟 为 为了 因为 所以 但 但是 而 而且 不过 如果 虽然
    然后 还是 还有 有没有 是不是 一下 一个 一些 个 们 之 其 请 请问
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def chinese_terms(run: str) -> Iterator[str]:
    """Terms of a run of Han characters: words, characters, and pairs that are no words. Stop words end a pair."""
    cut, cut_for_search = _segmenter()
    for is_stop, words in groupby(cut(run), lambda word: word in STOP_WORDS):
        if not is_stop:
            part = "".join(words)
            found = [word for word in cut_for_search(part) if len(word) > 1]
            yield from found
            yield from part
            yield from (pair for at in range(len(part) - 1) if (pair := part[at : at + 2]) not in found)


@cache
def _segmenter() -> tuple[Callable[[str], list[str]], Callable[[str], list[str]]]:
    # Loads its dictionary when it is imported: half a second and 30 MB, which only Chinese text needs.
    import rjieba

    return rjieba.cut, rjieba.cut_for_search
