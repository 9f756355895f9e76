"""How a model folder says that it generates: reading and writing its generation settings.

``dlmrt.json`` overrides ``generation_config.json``, which overrides what other families keep in
``config.json``. A checkpoint of a plain language model has none of the diffusion settings: it decodes
autoregressively.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlmrt.config import (
    DecoderConfig,
    DiffusionConfig,
    GenerationDefaults,
    ModelConfig,
    PromptFormat,
    from_mapping,
    to_mapping,
)
from dlmrt.errors import ConfigError, DlmrtError, nearest
from dlmrt.models.families import DIFFUSION_KEYS, Family
from dlmrt.models.storage import parse_json
from dlmrt.validate import validate_ids

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
OVERLAY_FILE = "dlmrt.json"
TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_CONFIG_FILE = "tokenizer_config.json"

_GENERATION_KEYS = (*DIFFUSION_KEYS, "eos_token_id", "pad_token_id", "max_new_tokens", "decoder", "prompt")
_OVERLAY_KEYS = (*_GENERATION_KEYS, "clean_attention", "residual")
_HARMLESS = frozenset(
    {
        "_from_model_config", "bos_token_id", "output_attentions", "output_hidden_states",
        "transformers_version", "use_cache",
    }
)  # fmt: skip
# Defaults for autoregressive sampling in checkpoints of other origin; decoding takes its defaults
# from "decoder" only.
_SAMPLING = frozenset(
    {"do_sample", "max_length", "min_p", "num_beams", "repetition_penalty", "temperature", "top_k", "top_p"}
)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; raises ConfigError."""
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror or problem}") from None
    return parse_json(text, str(path))


def _check_keys(
    data: Mapping[str, Any], path: Path, allowed: tuple[str, ...], harmless: frozenset[str]
) -> None:
    for key in data:
        if key not in allowed and key not in harmless:
            names = [*allowed, *(f"decoder.{name}" for name in DecoderConfig.__dataclass_fields__)]
            raise ConfigError(
                f"{path} has the unknown option '{key}'{nearest(key, names)} (allowed: {', '.join(allowed)})"
            )


@dataclass(frozen=True)
class Settings:
    """What the files of a folder say, before it is known whether it fits together.

    model, generation, overlay: the content of ``config.json``, ``generation_config.json`` and
    ``dlmrt.json``; the latter two are empty where there is no such file.
    """

    folder: Path
    family: Family
    model: Mapping[str, Any]
    generation: Mapping[str, Any]
    overlay: Mapping[str, Any]

    @property
    def merged(self) -> dict[str, Any]:
        """Generation settings: ``dlmrt.json`` over ``generation_config.json`` over ``config.json``."""
        from_model = {} if self.family.own else {k: self.model[k] for k in DIFFUSION_KEYS if k in self.model}
        return {**from_model, **self.generation, **self.overlay}

    def model_keys(self) -> dict[str, Any]:
        """What the other files say about the architecture; it overrides ``config.json``.

        Raises ConfigError: diffusion settings that are missing where they are needed, or given in part.
        """
        given = {key: self.overlay[key] for key in ("clean_attention", "residual") if key in self.overlay}
        if self.merged.get("block_size") is not None:
            return given
        self._check_plain({**self.model, **self.merged})
        return {**given, "clean_attention": "causal"}

    def _check_plain(self, settings: Mapping[str, Any]) -> None:
        """Without a block size it must be a plain language model, with nothing said of diffusion."""
        if self.family.own:
            raise ConfigError(
                f"{self.folder / GENERATION_FILE} lacks 'block_size'; it says how the model was trained"
            )
        add = f'add {OVERLAY_FILE} with "block_size", "noise" and "mask_token_id" (see docs/model-format.md)'
        if not self.family.autoregressive:
            raise ConfigError(
                f"{self.folder} is a {self.family.model_type} checkpoint without diffusion settings; {add}"
            )
        for key in ("noise", "mask_token_id", "clean_attention", "residual"):
            if settings.get(key) is not None:
                raise ConfigError(
                    f"{self.folder} sets '{key}' and no 'block_size'; if it was trained for block diffusion, "
                    f"{add}, else remove '{key}'"
                )

    def build(self, config: ModelConfig) -> GenerationDefaults:
        """Check the generation settings and return them; raises ConfigError."""
        merged = self.merged
        pad = merged.get("pad_token_id")
        diffusion: dict[str, Any] = {key: merged[key] for key in DIFFUSION_KEYS if key in merged}
        if diffusion.get("block_size") is None:
            diffusion |= {"block_size": 1, "noise": None}
        diffusion["eos_token_ids"] = _eos_ids(self, config.vocab_size)
        diffusion["pad_token_id"] = self.model.get("pad_token_id") if pad is None else pad
        rest: dict[str, Any] = {k: merged[k] for k in ("max_new_tokens", "decoder", "prompt") if k in merged}
        if not self.family.own:
            rest.setdefault("prompt", _tokenizer_frame(self.folder))
        try:
            built = from_mapping(DiffusionConfig, diffusion)
            defaults = from_mapping(GenerationDefaults, {"diffusion": built, **rest})
            check_generation(config, defaults)
        except DlmrtError as problem:  # a RequestError too: here the file is at fault, not a request
            where = self.folder / (OVERLAY_FILE if self.overlay else GENERATION_FILE)
            raise ConfigError(f"{where}: {problem}") from None
        return defaults


def read_settings(folder: Path, family: Family, model: Mapping[str, Any]) -> Settings:
    """Read the files beside ``config.json``, whose content is ``model``.

    Raises ConfigError: a file that can't be read, or an unknown key in it (nearest name given).
    """
    generation, overlay = (
        read_json(folder / name) if (folder / name).is_file() else {}
        for name in (GENERATION_FILE, OVERLAY_FILE)
    )
    _check_keys(overlay, folder / OVERLAY_FILE, _OVERLAY_KEYS, frozenset())
    harmless = _HARMLESS if family.own else _HARMLESS | _SAMPLING
    _check_keys(generation, folder / GENERATION_FILE, _GENERATION_KEYS, harmless)
    return Settings(folder, family, model, generation, overlay)


def check_generation(config: ModelConfig, defaults: GenerationDefaults) -> None:
    """Refuse generation settings that don't fit the model; raises ConfigError."""
    diffusion = defaults.diffusion
    validate_ids(config, diffusion)
    if diffusion.mask_token_id is not None and diffusion.mask_token_id in diffusion.eos_token_ids:
        raise ConfigError(f"mask_token_id {diffusion.mask_token_id} is an EOS id too; they must differ")
    if diffusion.block_size > config.max_positions:
        raise ConfigError(
            f"block_size is {diffusion.block_size}, the model has {config.max_positions} positions; "
            "a block must fit into them"
        )
    if defaults.max_new_tokens < 1:
        raise ConfigError(f"max_new_tokens is {defaults.max_new_tokens}; it must be >= 1")


def _eos_ids(settings: Settings, vocab_size: int) -> tuple[int, ...]:
    """The union of the EOS ids of all files, in the order dlmrt, generation, model, tokenizer."""
    ids: list[int] = []
    for data, file in (
        (settings.overlay, OVERLAY_FILE),
        (settings.generation, GENERATION_FILE),
        (settings.model, CONFIG_FILE),
    ):
        value = data.get("eos_token_id")
        listed = [] if value is None else value if isinstance(value, list) else [value]
        for item in listed:
            if type(item) is not int:
                raise ConfigError(
                    f"{settings.folder / file} has eos_token_id {value!r}; it must be an id or a list of ids"
                )
        ids += listed
    named = _tokenizer_eos(settings.folder)
    if named is not None and named < vocab_size:  # an id beyond the vocabulary is never produced
        ids.append(named)
    return tuple(dict.fromkeys(ids))


def _tokenizer_eos(folder: Path) -> int | None:
    """The id of the ``eos_token`` that ``tokenizer_config.json`` names; ``None`` if it has no id.

    The table of ids in that file is asked first: where a text and an id's configuration differ, the
    id wins.
    """
    path = folder / TOKENIZER_CONFIG_FILE
    if not path.is_file():
        return None
    data = read_json(path)
    text = _content(data.get("eos_token"))
    if text is None:
        return None
    table = data.get("added_tokens_decoder")
    for key, token in table.items() if isinstance(table, dict) else ():
        if _content(token) == text and key.isdecimal():
            return int(key)
    tokenizer = folder / TOKENIZER_FILE
    return _find_token(read_json(tokenizer), text) if tokenizer.is_file() else None


def _content(token: object) -> str | None:
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _find_token(tokenizer: Mapping[str, Any], text: str) -> int | None:
    added = tokenizer.get("added_tokens")
    for token in added if isinstance(added, list) else ():
        if isinstance(token, dict) and token.get("content") == text and type(token.get("id")) is int:
            return int(token["id"])
    model = tokenizer.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    value = vocab.get(text) if isinstance(vocab, dict) else None
    return value if type(value) is int else None


def _tokenizer_frame(folder: Path) -> PromptFormat:
    """The control tokens that the tokenizer itself puts around a text, as a prompt format.

    Published tokenizers keep them in their post-processor (often a begin-of-sequence token).
    """
    path = folder / TOKENIZER_FILE
    for step in _post_processors(read_json(path).get("post_processor") if path.is_file() else None):
        if step.get("type") == "TemplateProcessing":
            prefix: tuple[str, ...] = ()
            names: tuple[str, ...] = ()
            for piece in step["single"]:
                if "Sequence" in piece:
                    prefix, names = names, ()
                else:
                    names += tuple(step["special_tokens"][piece["SpecialToken"]["id"]]["tokens"])
            return PromptFormat(prefix=prefix, suffix=names)
    return PromptFormat()


def _post_processors(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict) and value.get("type") == "Sequence":
        yield from value["processors"]
    elif isinstance(value, dict):
        yield value


def write_generation(generation: GenerationDefaults) -> dict[str, Any]:
    """Return the content of our own ``generation_config.json``."""
    diffusion = to_mapping(generation.diffusion)
    diffusion["eos_token_id"] = diffusion.pop("eos_token_ids")
    rest = {key: to_mapping(getattr(generation, key)) for key in ("max_new_tokens", "decoder", "prompt")}
    return {**diffusion, **rest}
