"""Names to model folders: the models that ship with the package, and folders on disk.

Nothing is ever downloaded here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dlmrt.errors import ConfigError, ModelNotFoundError, nearest
from dlmrt.models.generation import CONFIG_FILE
from dlmrt.models.storage import parse_json

DEFAULT_NAME = "default"  # another name of the default model
DEFAULT_FILE = "default.json"  # {"default": name}, beside the embedded models
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class EmbeddedModel:
    """A model that ships with the package."""

    name: str
    path: Path
    is_default: bool


def assets_folder() -> Path:
    """Return the folder of the package that holds the embedded models."""
    import dlmrt.assets

    return Path(str(dlmrt.assets.__file__)).parent


def list_models() -> list[EmbeddedModel]:
    """Return the embedded models, by name. Raises ConfigError: a ``default.json`` that names none of them."""
    assets = assets_folder()
    folders = {p.name: p for p in sorted(assets.iterdir()) if (p / CONFIG_FILE).is_file()}
    default = _default_name(assets / DEFAULT_FILE, list(folders))
    return [EmbeddedModel(name, path, name == default) for name, path in folders.items()]


def _default_name(file: Path, names: list[str]) -> str | None:
    if not file.is_file():
        return names[0] if len(names) == 1 else None
    name = parse_json(file.read_bytes(), str(file)).get("default")
    if name not in names:
        raise ConfigError(f"{file} names {name!r}; embedded models: {', '.join(names) or 'none'}")
    return str(name)


def resolve(name_or_path: str | Path | None) -> Path:
    """Return the folder of a model.

    name_or_path: ``None`` or ``default`` for the embedded default, the name of an embedded model, or
    a path to a model folder. A name wins over a folder of the same name; write ``./name`` for that.

    Raises ModelNotFoundError: what was given is none of them; the message says what there is.
    """
    models = list_models()
    if name_or_path is None or name_or_path == DEFAULT_NAME:
        return _default(models)
    for model in models:
        if name_or_path == model.name:
            return model.path
    text = str(name_or_path)
    path = Path(text).expanduser() if text else None
    if path is not None and _exists(path):
        return _check_folder(path)
    raise ModelNotFoundError(_not_found(text, models))


def _default(models: list[EmbeddedModel]) -> Path:
    for model in models:
        if model.is_default:
            return model.path
    if not models:
        raise ModelNotFoundError("this installation has no embedded model; give the path of a model folder")
    names = ", ".join(model.name for model in models)
    raise ModelNotFoundError(f"no embedded model is the default one; give one by name: {names}")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for the file system, a null byte
        return False


def _check_folder(path: Path) -> Path:
    if not path.is_dir():
        raise ModelNotFoundError(
            f"'{path}' is a file; give the folder that holds {CONFIG_FILE} and the weights"
        )
    if (path / CONFIG_FILE).is_file():
        return path
    inner = sorted(str(p.parent) for p in path.glob(f"*/{CONFIG_FILE}"))
    hint = f"; did you mean '{inner[0]}'?" if inner else ""
    raise ModelNotFoundError(f"'{path}' is no model folder: it has no {CONFIG_FILE}{hint}")


def _not_found(text: str, models: list[EmbeddedModel]) -> str:
    names = [model.name for model in models]
    if _HUB_ID.fullmatch(text) and not text.startswith("."):
        local = text.rpartition("/")[2]
        return (
            f"there is no folder '{text}'; if it is a model on a hub: nothing is downloaded automatically, "
            f"so fetch it first (hf download {text} --local-dir {local}) and give that folder"
        )
    return (
        f"no model '{text}'{nearest(text, [*names, DEFAULT_NAME])}; embedded models: "
        f"{', '.join(names) or 'none'}; or give the path of a model folder"
    )
