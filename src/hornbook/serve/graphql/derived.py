"""Makes GraphQL types of the dataclasses that answers are.

A resolver returns the dataclass itself, and GraphQL reads its attributes: nothing is copied or
declared twice. What a type adds to its dataclass stands in one call: the name and description that
clients know it by, which of its texts are ids, which of its fields are not shown, and the fields
that it does not have itself, such as links to other things.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import strawberry
from strawberry.scalars import JSON

KIND = "_kind"
_TYPES: dict[type, Any] = {}  # by dataclass; strawberry makes classes that no type checker knows


@strawberry.interface(description="Something with an id that `node` finds it by.")
class Node:
    """Something that is found by its id: dotted, with the repository's name and `:` before it."""

    id: strawberry.ID


def derive(  # noqa: PLR0913  # all that a type may add to its dataclass, each by name
    of: type,
    description: str,
    *,
    name: str = "",
    ids: tuple[str, ...] = (),
    hidden: tuple[str, ...] = (),
    first: tuple[str, ...] = (),
    names: Mapping[str, str] = MappingProxyType({}),
    texts: Mapping[str, str] = MappingProxyType({}),
    types: Mapping[str, Any] = MappingProxyType({}),
    kinds: Mapping[str, type[Enum]] = MappingProxyType({}),
    more: tuple[Callable[..., Any], ...] = (),
    node: bool = False,
) -> Any:  # as `_TYPES`
    """The GraphQL type of a dataclass.

    `ids` are fields of GraphQL's type ID besides `id`, `hidden` those that are not shown, `first`
    those that come first, `names` those that are called otherwise, `texts` the descriptions of
    some, `types` the types of some. For each of `kinds` there is a field beside the text that has
    it as an enum. `more` are resolvers of fields that the dataclass does not have; a `node` is
    found by its id.
    """
    hints, called = get_type_hints(of), name or of.__name__
    annotations = {
        each: types.get(each) or _type_of(hints[each], is_id=each in {"id", *ids})
        for each in dict.fromkeys((*first, *(field.name for field in fields(of))))
        if each not in hidden
    }
    namespace: dict[str, Any] = {
        each: strawberry.field(name=names.get(each), description=texts.get(each))
        for each in {*names, *texts}
    }
    for each, kind in kinds.items():
        annotations[each + KIND] = kind | None if _optional(hints[each]) else kind
        namespace[each + KIND] = strawberry.field(resolver=_as_kind(each, kind))
    for resolver in more:
        namespace[getattr(resolver, "called", resolver.__name__)] = _linked(resolver)
    if node:
        namespace["is_type_of"] = staticmethod(lambda obj, _info: isinstance(obj, of))
    made = type(called, (Node,) if node else (), {"__annotations__": annotations, **namespace})
    _TYPES[of] = strawberry.type(made, name=called, description=description)
    return _TYPES[of]


def later(name: str, module: str) -> Any:  # a type form
    """A type that is made later, by its name in a module."""
    return Annotated[name, strawberry.lazy(module)]


def several(kind: object) -> Any:  # the same
    """The type of a list of a type that is made while running."""
    return list[kind]  # type: ignore[valid-type]  # as it says


def gives(kind: object, *, name: str = "") -> Callable[[Callable[..., Any]], Any]:
    """Say which GraphQL type a resolver gives, and what its field is called if not as itself."""

    def said(resolver: Callable[..., Any]) -> Callable[..., Any]:
        resolver.gives = kind  # type: ignore[attr-defined]  # read again by `_linked`
        resolver.called = name or resolver.__name__  # type: ignore[attr-defined]  # by `derive`
        return resolver

    return said


def _linked(resolver: Callable[..., Any]) -> Any:  # a field of strawberry's
    told = " ".join((resolver.__doc__ or "").split())
    return strawberry.field(
        resolver=resolver,
        graphql_type=getattr(resolver, "gives", None),
        description=told,
    )


def _as_kind(name: str, kind: type[Enum]) -> Callable[..., Any]:
    def resolver(self: Any) -> Any:  # any of the dataclasses, and its text
        value = getattr(self, name)
        return None if value is None else kind(str(value))

    resolver.__annotations__["return"] = kind | None
    return resolver


def _optional(hint: Any) -> bool:  # type forms have no type
    return get_origin(hint) in {Union, UnionType}


def _type_of(hint: Any, *, is_id: bool) -> Any:  # the same
    """What GraphQL calls a type of Python's."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:  # of a type and None: there are no others
        return _type_of(inner[0], is_id=is_id) | None
    if origin is tuple:
        return list[_type_of(inner[0], is_id=is_id)]  # type: ignore[misc]  # made while running
    if not isinstance(hint, type):
        return JSON
    if issubclass(hint, str):
        return strawberry.ID if is_id else str
    return _TYPES.get(hint, hint)
