"""JSON that is encoded already. Without a driver: the CLI reads settings that hold such text."""


class Json(str):
    """JSON text that is stored as it is."""

    __slots__ = ()
