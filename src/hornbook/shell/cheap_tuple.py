"""Named tuples that are cheap to define: a hook starts once for every call that an agent makes.

Type checkers see `typing.NamedTuple`. At run time that would load `typing` and compile code for
each class, which together takes longer than all that a hook does.
"""

from operator import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  # exported on purpose
else:

    class NamedTuple(tuple):  # each subclass has its fields as properties
        """A tuple whose places have the names that its class annotates, with defaults."""

        __slots__ = ()

        def __init_subclass__(cls) -> None:
            cls._fields = tuple(cls.__annotations__)
            cls._defaults = {name: vars(cls)[name] for name in cls._fields if name in vars(cls)}
            for place, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(place)))

        def __new__(cls, *values, **named):  # noqa: D102  # as the class says
            for name in cls._fields[len(values) :]:
                if name in named:
                    values += (named.pop(name),)
                elif name in cls._defaults:
                    values += (cls._defaults[name],)
                else:
                    raise TypeError(f"{cls.__name__} lacks {name}")
            if named or len(values) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has no {', '.join(named) or 'further field'}")
            return tuple.__new__(cls, values)

        def __repr__(self) -> str:
            shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(shown)})"

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changed):
            return type(self)(**{**self._asdict(), **changed})
