"""Groups of options: dataclasses whose fields a verb takes as options of its own.

A verb gets typed values and has no need of the parser's context, whose values are in some versions of
typer not yet what the annotation says (a ``str`` for a ``Path``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Without:
    """In ``Annotated[Group, Without("seed")]``: fields that this verb does not take; they keep defaults."""

    def __init__(self, *names: str) -> None:
        self.names = names


@dataclass(frozen=True)
class _Group:
    kind: type[Any]
    options: list[inspect.Parameter]

    def take(self, values: dict[str, Any]) -> Any:
        return self.kind(**{option.name: values.pop(option.name) for option in self.options})


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter of ``verb`` that is a dataclass into one option for each of its fields.

    The options stand where the parameter stood. A field is annotated as typer wants it,
    ``Annotated[int | None, typer.Option("--limit")]``, and has a default.
    """
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, _Group] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(verb).parameters.values():
        hint = hints[parameter.name]
        group = _group(hint)
        if group is None:
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
        else:
            groups[parameter.name] = group
            parameters += group.options

    @functools.wraps(verb)
    def call(**values: Any) -> None:
        verb(**{name: group.take(values) for name, group in groups.items()}, **values)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def changed(group: DataclassInstance) -> list[str]:
    """Names of the fields of ``group`` that are not at their default."""
    return [field.name for field in fields(group) if getattr(group, field.name) != field.default]


def option_name(field: str) -> str:
    """Spell a field as on the command line: ``per_step`` is ``--per-step``."""
    return f"--{field.replace('_', '-')}"


def _group(hint: Any) -> _Group | None:
    kind, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not is_dataclass(kind):
        return None
    assert isinstance(kind, type)
    left_out = {name for extra in extras if isinstance(extra, Without) for name in extra.names}
    unknown = left_out - {field.name for field in fields(kind)}
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))} to leave out")
    hints = get_type_hints(kind, include_extras=True)
    return _Group(
        kind,
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=hints[field.name],
            )
            for field in fields(kind)
            if field.name not in left_out
        ],
    )
