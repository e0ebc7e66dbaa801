"""Reading a YAML file, and saying in one line what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from target_health.errors import ConfigurationError
from target_health.paths import SHIPPED_CONFIG


class Section(BaseModel):
    """A part of a configuration file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


SectionType = TypeVar("SectionType", bound=Section)


# libyaml's where it is built in: PyYAML's own takes half of a small landing's time.
FastLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class PlainLoader(FastLoader):  # type: ignore[misc]
    """YAML's safe loader, which also refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key!r} stands twice, the second time in line {line}"
                )
            seen.add(key)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; an absent or empty file is an empty mapping."""
    if not path.exists():
        return {}
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=PlainLoader)
    except OSError as problem:
        what = "is a directory, not a file" if path.is_dir() else problem.strerror
        raise ConfigurationError(f"{path}: cannot be read: {what}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        detail = " ".join(str(problem).split())
        raise ConfigurationError(f"{path}: cannot be read as YAML: {detail}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path}: must be a mapping of keys to values")
    return content


def with_defaults(name: str, directory: Path) -> dict[str, Any]:
    """The shipped file of this name, overlaid key by key with the one in ``directory``."""
    return merged(read_yaml(SHIPPED_CONFIG / name), read_yaml(directory / name))


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """``above`` over ``below``, mapping by mapping."""
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            result[key] = merged(under, value)
        else:
            result[key] = value
    return result


def validated(model: type[SectionType], content: object, path: Path, at: str = "") -> SectionType:
    """``content`` as ``model``; ``ConfigurationError`` names file, key and what is allowed."""
    try:
        return model.model_validate(content)
    except ValidationError as problem:
        raise ConfigurationError(f"{path}: {first_error(model, problem, at)}") from None


def first_error(model: type[BaseModel], problem: ValidationError, at: str = "") -> str:
    """The first of pydantic's errors as ``key: what is wrong and what is allowed``."""
    error = problem.errors(include_url=False)[0]
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    key = ".".join([at, *map(str, error["loc"])] if at else map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        allowed = ", ".join(allowed_keys(model, error["loc"][:-1]))
        return f"{key}: unknown key; allowed: {allowed}"
    if error["type"] in ("model_type", "dict_type"):
        return f"{key}: must be a mapping of keys to values (got {error['input']!r})"
    if isinstance(error["input"], dict):
        # Several keys together are wrong; the message names them.
        return f"{key}: {message}" if key else message
    return f"{key}: {message} (got {error['input']!r})"


def allowed_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that a model takes at a location inside it, through optional and named parts."""
    for part in location:
        field = model.model_fields.get(str(part))
        if field is not None:
            model = section_in(field.annotation) or model
    return sorted(model.model_fields)


def section_in(annotation: object) -> type[BaseModel] | None:
    """The model in an annotation: itself, an alternative, or the values of a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        found = section_in(argument)
        if found is not None:
            return found
    return None
