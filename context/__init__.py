"""Context management: conversations, token counts, windows and compression.

This package holds values and rules only; the stores are in `purser.context.postgres`. Its names are listed in
`__init__.pyi` and loaded on first access: commands that need one setting of it would wait for all of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
