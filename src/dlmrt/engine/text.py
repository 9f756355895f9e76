"""Between a user's text and token ids: prompt formats, chat templates, incremental decoding.

Only the ``tokenizers`` package is used. Text that spells a control token is text: it is encoded with
``Tokenizer.encode_special_tokens`` on, also inside a chat template.
"""

from __future__ import annotations

import json
import operator
import re
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer

from dlmrt.config import GenerationDefaults
from dlmrt.engine.request import Message
from dlmrt.errors import ConfigError, MissingExtraError, PromptError, nearest

if TYPE_CHECKING:
    from dlmrt.models.folder import ModelFolder

REPLACEMENT = "\ufffd"  # what a decoder shows for bytes that are no character (yet)
TEMPLATE_FILE = "chat_template.jinja"
_HUGE = 1 << 16  # bytes of text from which its length is checked before it is tokenised


class TextCodec:
    """The tokenizer of a model folder with its control ids and its way to build prompts.

    Raises ConfigError: no ``tokenizer.json``, one that doesn't parse, or one with more tokens than
    the model has; a prompt format that names a token the tokenizer doesn't know.
    """

    def __init__(self, folder: ModelFolder) -> None:
        defaults: GenerationDefaults = folder.generation
        diffusion = defaults.diffusion
        self._path = folder.path
        self._format = defaults.prompt
        self._block_size = diffusion.block_size
        self._vocab_size = folder.config.vocab_size
        self._max_positions = folder.config.max_positions
        self._tokenizer = _open_tokenizer(folder.path / "tokenizer.json", self._vocab_size)
        self._lock = threading.Lock()  # encoding switches a flag of the tokenizer
        self._eos_ids = diffusion.eos_token_ids
        pad = () if diffusion.pad_token_id is None else (diffusion.pad_token_id,)
        self._make_special({*diffusion.banned_ids, *self._eos_ids, *pad})
        added = self._tokenizer.get_added_tokens_decoder()
        specials = {id_: token.content for id_, token in added.items() if token.special}
        self._hidden = frozenset({*specials, *diffusion.banned_ids, *self._eos_ids, *pad})
        self._control = _any_of(specials.values())
        self._prefix = [self._named(name) for name in self._format.prefix]
        self._suffix = [self._named(name) for name in self._format.suffix]
        if self._format.align and not pad:
            raise ConfigError("the prompt format has align on, and pad_token_id is not set; set one of them")
        self._pad = pad
        self._refused = frozenset(diffusion.banned_ids) - {*self._prefix, *self._suffix, *pad}

    @property
    def has_chat_template(self) -> bool:
        """Whether the folder brings a chat template; without one every turn stands alone."""
        return (self._path / TEMPLATE_FILE).is_file()

    def encode_prompt(self, text: str) -> list[int]:
        """Turn a user's text into prompt ids, by the chat template or else the prompt format.

        Raises PromptError: empty, not valid text, longer than the model was trained on, or refused by
        the chat template. Raises ConfigError: a template that is none. Raises MissingExtraError: it
        needs jinja2, which is not installed.
        """
        _check_text(text)
        if not text.strip():
            raise PromptError("the prompt is empty; give the text that the model should work on")
        if self.has_chat_template:
            return self._encode_chat([{"role": "user", "content": text}])
        allowed = self._format.max_text_tokens
        self._refuse_huge(text, allowed)
        ids = self._encode(text)
        if allowed is not None and len(ids) > allowed:
            raise PromptError(
                f"the text is {len(ids)} tokens and this model takes at most {allowed}; "
                "shorten it, or give it a sentence or a line at a time"
            )
        prompt = [*self._prefix, *ids, *self._suffix]
        if self._format.align:
            prompt += self._pad * (-len(prompt) % self._block_size)
        return prompt

    def _refuse_huge(self, text: str, allowed: int | None) -> None:
        """Refuse at once a text that can't fit whatever its tokens are: tokenising it takes long."""
        size = len(text.encode())
        if size < _HUGE:
            return
        limit = self._max_positions if allowed is None else allowed
        least = size // max(len(token.encode()) for token in self._tokenizer.get_vocab())
        if least > limit:
            raise PromptError(
                f"the text is at least {least} tokens and this model takes at most {limit}; "
                "shorten it, or give it a sentence or a line at a time"
            )

    def encode_messages(self, messages: Sequence[Message]) -> list[int]:
        """Turn a conversation into prompt ids; without a chat template only its last user turn counts.

        Raises PromptError: a message without ``role`` or ``content`` text, no user message, or a
        template that refuses the conversation or fails on it. Raises ConfigError: a template that is
        none. Raises MissingExtraError: jinja2 is not installed.
        """
        for at, message in enumerate(messages):
            for key in ("role", "content"):
                if not isinstance(message.get(key), str):
                    raise PromptError(f"message {at} has no text '{key}'; it needs a role and a content")
            _check_text(message["content"])
        if self.has_chat_template:
            return self._encode_chat(messages)
        users = [m["content"] for m in messages if m["role"] == "user"]
        if not users:
            raise PromptError("the conversation has no user message; add one with role 'user'")
        return self.encode_prompt(users[-1])

    def encode_text(self, text: str) -> list[int]:
        """Turn text into its own ids: no prompt format around it, no control token in it."""
        return self._encode(text)

    def check_ids(self, ids: Sequence[int]) -> list[int]:
        """Check prompt ids that the caller made.

        The control ids of the prompt format and padding are allowed. Raises PromptError: an id that is
        no integer, outside the vocabulary, or reserved for the decoder (such as the mask).
        """
        checked = []
        for at, value in enumerate(ids):
            try:
                token = operator.index(value)
            except TypeError:
                raise PromptError(f"prompt id {at} is {value!r}; ids are integers") from None
            if not 0 <= token < self._vocab_size:
                raise PromptError(
                    f"prompt id {at} is {token}, outside the vocabulary (0 to {self._vocab_size - 1})"
                )
            if token in self._refused:
                raise PromptError(
                    f"prompt id {at} is {token} ({self.token_text(token)!r}), reserved for the decoder; "
                    "leave it out"
                )
            checked.append(token)
        return checked

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text, control tokens left out."""
        visible = [i for i in ids if i not in self._hidden]
        return str(self._tokenizer.decode(visible, skip_special_tokens=False)) if visible else ""

    def incremental(self) -> IncrementalDecoder:
        """Return a new decoder for one growing answer."""
        return IncrementalDecoder(self)

    def is_hidden(self, token: int) -> bool:
        """Whether ``token`` is a control token, which never shows in an answer."""
        return token in self._hidden

    def token_text(self, token: int) -> str:
        """Return one token as something to look at; a control token as its name."""
        if token in self._hidden:
            return str(self._tokenizer.id_to_token(token) or f"<{token}>")
        return str(self._tokenizer.decode([token], skip_special_tokens=False))

    def _encode(self, text: str, *, control: bool = False) -> list[int]:
        """Encode ``text``; with ``control`` on, control tokens in it are recognised."""
        with self._lock:
            self._tokenizer.encode_special_tokens = not control
            return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _encode_chat(self, messages: Sequence[Message]) -> list[int]:
        # A control token spelled in a message goes through the template as a placeholder, so that
        # what the template itself writes can be told from what the user wrote.
        spelled: list[str] = []
        everything = "".join(m["content"] for m in messages)
        mark = _unused_mark(everything)

        def hide(match: re.Match[str]) -> str:
            spelled.append(match[0])
            return f"{mark}{len(spelled) - 1};"

        hidden = [dict(m, content=self._control.sub(hide, m["content"])) for m in messages]
        rendered = self._render(hidden)
        ids: list[int] = []
        for at, part in enumerate(re.split(f"{mark}(\\d+);", rendered)):
            if part:
                ids += self._encode(spelled[int(part)]) if at % 2 else self._encode(part, control=True)
        return ids

    def _render(self, messages: Sequence[Message]) -> str:
        try:
            from jinja2 import TemplateError, TemplateSyntaxError
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ImportError:
            raise MissingExtraError("this model's chat template", "chat") from None

        def refuse(message: str) -> None:
            raise TemplateError(message)

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = refuse
        path, names = self._path / TEMPLATE_FILE, self._named_tokens()
        try:
            template = environment.from_string(_read_utf8(path))
            return template.render(messages=messages, add_generation_prompt=True, **names)
        except TemplateSyntaxError as error:
            raise ConfigError(
                f"'{path}' is no valid template: line {error.lineno}: {error.message}; correct it"
            ) from None
        except TemplateError as error:
            raise PromptError(f"the model's chat template refuses this conversation: {error}") from None
        except ConfigError:
            raise
        except Exception as error:  # a template is a program: it may fail in any way
            raise PromptError(
                f"the model's chat template '{path}' fails on this conversation: "
                f"{type(error).__name__}: {error}; correct the template"
            ) from None

    def _named_tokens(self) -> dict[str, str]:
        """Names that templates use: ``eos_token`` from the ids, others from ``tokenizer_config.json``."""
        names: dict[str, str] = {}
        path = self._path / "tokenizer_config.json"
        if path.is_file():
            for key, value in _read_object(path).items():
                text = value.get("content") if isinstance(value, dict) else value
                if key.endswith("_token") and isinstance(text, str):
                    names[key] = text
        if self._eos_ids:  # the id's configuration wins over the text's
            names["eos_token"] = str(self._tokenizer.id_to_token(self._eos_ids[0]))
        return names

    def _named(self, name: str) -> int:
        token = self._tokenizer.token_to_id(name)
        if token is None:
            known = [t.content for t in self._tokenizer.get_added_tokens_decoder().values()]
            raise ConfigError(
                f"the prompt format names '{name}', which the tokenizer does not have{nearest(name, known)}"
            )
        return int(token)

    def _make_special(self, ids: Iterable[int]) -> None:
        """Mark added tokens that the configuration calls control ids as special: the id wins."""
        added = self._tokenizer.get_added_tokens_decoder()
        plain = [added[i].content for i in ids if i in added and not added[i].special]
        self._tokenizer.add_special_tokens(
            [AddedToken(text, normalized=False, special=True) for text in plain]
        )


class IncrementalDecoder:
    """Decodes a growing answer; text handed out never changes later.

    The end of the text is held back (``pending``) while it is no whole character. Only a short window
    of ids is decoded again for each new one.
    """

    WINDOW = 8

    def __init__(self, codec: TextCodec) -> None:
        self._codec = codec
        self._ids: list[int] = []
        self._text = ""  # of the window
        self._done = 0  # characters of it handed out
        self.pending = False

    def feed(self, token: int) -> str:
        """Take one id and return the text that can't change any more (often one word piece)."""
        if self._codec.is_hidden(token):
            return ""
        self._ids.append(token)
        self._text = self._codec.decode(self._ids)
        stable = len(self._text.rstrip(REPLACEMENT))
        self.pending = stable < len(self._text)
        piece = self._text[self._done : stable]
        self._done = max(self._done, stable)
        if not self.pending and len(self._ids) > 2 * self.WINDOW:
            self._shorten()
        return piece

    def flush(self) -> str:
        """Return what was held back; the answer is over, so it stays what it is."""
        rest = self._text[self._done :]
        self._done = len(self._text)
        self.pending = False
        return rest

    def _shorten(self) -> None:
        ids = self._ids[-self.WINDOW :]
        text = self._codec.decode(ids)
        if REPLACEMENT not in text:  # else the window would begin inside a character
            self._ids, self._text, self._done = ids, text, len(text)


def _open_tokenizer(path: Path, vocab_size: int) -> Tokenizer:
    if not path.is_file():
        raise ConfigError(f"no tokenizer at '{path}'; a model folder needs a tokenizer.json")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ConfigError(f"'{path}' is no tokenizer that the tokenizers package reads: {error}") from None
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    if size > vocab_size:
        raise ConfigError(
            f"'{path}' has {size} tokens and the model {vocab_size}; they don't belong together"
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _read_utf8(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"'{path}' is not UTF-8: {error.reason} at offset {error.start}") from None


def _read_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_read_utf8(path))
    except json.JSONDecodeError as error:
        raise ConfigError(f"'{path}' is not valid JSON: {error}; correct it or remove it") from None
    if not isinstance(data, dict):
        raise ConfigError(f"'{path}' holds a {type(data).__name__}; it must hold an object")
    return data


def _any_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Match any of ``texts``, the longest first; nothing when there are none."""
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)")


def _unused_mark(text: str) -> str:
    mark = "\ue000"  # private use: no meaning of its own
    while mark in text:
        mark += "\ue000"
    return mark


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise PromptError(f"the prompt is {type(text).__name__}; it must be text (str)")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PromptError(
            f"the prompt is no valid text: character {error.start} is half of a surrogate pair "
            "(bytes that are not UTF-8?)"
        ) from None


__all__ = ["IncrementalDecoder", "TextCodec"]
