"""The supervised block-diffusion objective, in one place: noise, batch layout, losses.

A packed batch of clean samples becomes ``[x_0 ; x_t copies]`` under the staircase mask
(``train/mask.py``; block diffusion as in BD3-LM, arXiv 2503.09573). Noisy copies hold only the
blocks that have answer tokens. Three losses share the forward: cross-entropy at noised answer
positions (with uniform noise at all answer positions of a copy: the model can't tell noise from
decided tokens, so it answers for both), an optional autoregressive loss on the clean stream, and the
same cross-entropy with the residual input warm-started from a first, gradient-free pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from dlmrt.config import CleanAttention, DiffusionConfig
from dlmrt.models.residual import ResidualInput
from dlmrt.models.transformer import Attend, Transformer
from dlmrt.train.draft import prompt_drafts
from dlmrt.train.mask import DenseAttend, FlexAttend, Layout, dense_mask
from dlmrt.train.objective_config import ObjectiveConfig


class PackedBatch(NamedTuple):
    """Packed rows of clean samples, each tensor [B, L].

    tokens, positions (from 0 in every sample), sample (-1 = padding): int64. answer: the token
    belongs to the answer, its EOS included; only these are scored. filler: position after the EOS
    up to the block edge: it enters the canvas as an open position, because serving shows it so,
    and is never a target.
    """

    tokens_BL: Tensor
    positions_BL: Tensor
    sample_BL: Tensor
    answer_BL: Tensor
    filler_BL: Tensor


class NoisyStream(NamedTuple):
    """The noisy copies of a batch, each tensor [B, M] (sample -1 = padding).

    tokens: the canvas; targets: clean tokens; open: noised positions; scored: the answer positions
    with a loss (the open ones, or with uniform noise all of them). draft: the token that a draft holds
    there, -1 without one (None: no block has a draft).
    """

    tokens_BM: Tensor
    targets_BM: Tensor
    layout: Layout
    open_BM: Tensor
    scored_BM: Tensor
    draft_BM: Tensor | None = None


@dataclass(frozen=True)
class LossOutput:
    """total: mean loss over ``weight`` scored tokens. parts: detached means for the log."""

    total: Tensor
    weight: Tensor
    parts: dict[str, Tensor]


def draw_noise(
    answer_BM: Tensor,
    group_BM: Tensor,
    depth_BM: Tensor,
    config: ObjectiveConfig,
    generator: torch.Generator,
) -> list[Tensor]:
    """Choose the noised positions of each copy: a list of boolean [B, M].

    group_BM numbers the blocks of a row (0..M-1): one noise level is drawn for each. depth_BM is
    a position's place inside its block, in (0, 1).
    """

    def uniform() -> Tensor:
        return torch.rand(answer_BM.shape, generator=generator, device=answer_BM.device)

    noised: list[Tensor] = []
    complement = torch.zeros_like(answer_BM)
    for copy in range(config.copies):
        level = config.t_min + (config.t_max - config.t_min) * uniform().gather(1, group_BM)
        kind = uniform().gather(1, group_BM)
        full = kind < config.full_noise
        suffix = ~full & (kind < config.full_noise + config.suffix_noise)
        own = full | torch.where(suffix, depth_BM > 1 - level, uniform() < level)
        if config.complementary and copy % 2 == 1:
            own = torch.where(complement, ~noised[-1], own)
        complement = ~(full | suffix)
        noised.append(own & answer_BM)
    return noised


def noisy_stream(
    batch: PackedBatch,
    config: ObjectiveConfig,
    diffusion: DiffusionConfig,
    vocab_size: int,
    generator: torch.Generator,
) -> NoisyStream:
    """Gather the blocks that hold answer tokens, once per copy, and noise them."""
    size = diffusion.block_size
    block_BL = batch.positions_BL // size
    index_BM, present_BM = _answer_blocks(batch, block_BL)

    def take(x_BL: Tensor) -> Tensor:
        return x_BL.gather(1, index_BM)

    sample_BM = torch.where(present_BM, take(batch.sample_BL), -1)
    answer_BM, filler_BM = take(batch.answer_BL) & present_BM, take(batch.filler_BL) & present_BM
    tokens_BM, position_BM, block_BM = take(batch.tokens_BL), take(batch.positions_BL), take(block_BL)
    new_group = torch.ones_like(block_BM, dtype=torch.bool)
    new_group[:, 1:] = (block_BM[:, 1:] != block_BM[:, :-1]) | (sample_BM[:, 1:] != sample_BM[:, :-1])
    group_BM = new_group.cumsum(1) - 1

    draft_BM = take(prompt_drafts(batch, size)) if config.draft_probability > 0 else None
    parts: list[tuple[Tensor, ...]] = []
    depth_BM = (position_BM % size + 0.5) / size
    for copy, noised_BM in enumerate(draw_noise(answer_BM, group_BM, depth_BM, config, generator)):
        open_BM = noised_BM | filler_BM
        noise_BM = _noise_ids(tokens_BM, diffusion, vocab_size, generator)
        canvas_BM = torch.where(open_BM, noise_BM, tokens_BM)
        copy_BM = torch.full_like(tokens_BM, copy + 1)
        scored_BM = answer_BM if diffusion.noise == "uniform" else noised_BM
        part = (canvas_BM, tokens_BM, sample_BM, position_BM, block_BM, copy_BM, open_BM, scored_BM)
        if draft_BM is None:
            parts.append(part)
            continue
        chosen_BM = _whole(answer_BM & ~noised_BM, group_BM)
        chance_BM = torch.rand(group_BM.shape, generator=generator, device=group_BM.device)
        chosen_BM &= chance_BM.gather(1, group_BM) < config.draft_probability
        parts.append((*part, draft_BM.masked_fill(~(chosen_BM & open_BM), -1)))
    canvas, targets, sample, position, block, copies, opened, scored, *draft = (
        torch.cat(columns, dim=1) for columns in zip(*parts, strict=True)
    )
    return NoisyStream(
        canvas, targets, Layout(sample, position, block, copies), opened, scored, draft[0] if draft else None
    )


def _whole(left_BM: Tensor, group_BM: Tensor) -> Tensor:
    """Which positions belong to a group in which nothing is left."""
    count = torch.zeros_like(group_BM).scatter_add(1, group_BM, left_BM.to(group_BM.dtype))
    return count.gather(1, group_BM) == 0


def _answer_blocks(batch: PackedBatch, block_BL: Tensor) -> tuple[Tensor, Tensor]:
    """Indices [B, M] of the tokens whose block holds an answer token, and which of them are real."""
    rows, length = block_BL.shape
    key_BL = batch.sample_BL.clamp(min=0) * length + block_BL
    wanted = torch.zeros(rows, int(key_BL.max()) + 1, dtype=torch.bool, device=key_BL.device)
    row = torch.arange(rows, device=key_BL.device)[:, None].expand_as(key_BL)
    wanted[row[batch.answer_BL], key_BL[batch.answer_BL]] = True
    member_BL = wanted.gather(1, key_BL) & (batch.sample_BL >= 0)
    count = int(member_BL.sum(1).max())
    order = torch.argsort((~member_BL).to(torch.int8), dim=1, stable=True)[:, :count]
    return order, member_BL.gather(1, order)


def _noise_ids(
    tokens_BM: Tensor, diffusion: DiffusionConfig, vocab_size: int, generator: torch.Generator
) -> Tensor:
    if diffusion.noise == "mask":
        assert diffusion.mask_token_id is not None
        return torch.full_like(tokens_BM, diffusion.mask_token_id)
    may = torch.ones(vocab_size, dtype=torch.bool, device=tokens_BM.device)
    may[list(diffusion.banned_ids)] = False
    allowed = may.nonzero()[:, 0]
    draw = torch.randint(len(allowed), tokens_BM.shape, generator=generator, device=tokens_BM.device)
    return allowed[draw]


def compute_loss(
    model: Transformer,
    batch: PackedBatch,
    config: ObjectiveConfig,
    diffusion: DiffusionConfig,
    *,
    generator: torch.Generator,
) -> LossOutput:
    """One batch's loss. ``generator`` supplies all noise.

    The diffusion loss is a mean over the ``weight`` scored tokens (0 without any), so that of micro-
    batches accumulates exactly: add up ``total * weight`` and divide by the summed weight. The AR
    loss is a mean over its own tokens; weighted so, it is exact only for equal counts.
    """
    stream = noisy_stream(batch, config, diffusion, model.config.vocab_size, generator)
    clean_block = batch.positions_BL // diffusion.block_size
    clean = Layout(batch.sample_BL, batch.positions_BL, clean_block, torch.zeros_like(clean_block))
    layout = Layout(*(torch.cat(pair, dim=1) for pair in zip(clean, stream.layout, strict=True)))
    tokens = torch.cat((batch.tokens_BL, stream.tokens_BM), dim=1)
    attend = _attend(layout, model.config.clean_attention, config.attention)
    length = batch.tokens_BL.shape[1]

    use_residual = (
        model.residual is not None
        and float(torch.rand((), generator=generator, device=generator.device)) < config.residual_probability
    )
    residual = _draft_residual(model, stream, length)
    if use_residual:
        residual = _first_pass(model, tokens, layout, attend, stream, residual, length, diffusion)
    hidden = model(tokens, layout.position_BL, attend, residual)
    targets = stream.targets_BM[stream.scored_BM]
    logits = _ban(model.logits(hidden[:, length:][stream.scored_BM]), diffusion)
    ce = F.cross_entropy(logits, targets, reduction="sum")
    weight = stream.scored_BM.sum().clamp(min=1).to(torch.float32)
    mean = ce / weight
    parts = {"diffusion": mean.detach(), "accuracy": (logits.argmax(-1) == targets).sum() / weight}
    total = mean
    if config.ar_weight > 0:
        ar = _ar_loss(model, batch, clean, hidden[:, :length], config.attention)
        total = total + config.ar_weight * ar
        parts["ar"] = ar.detach()
    parts["total"] = total.detach()
    return LossOutput(total, weight, parts)


def _attend(layout: Layout, clean_attention: CleanAttention, kind: str) -> Attend:
    if kind == "flex":
        return FlexAttend(layout, clean_attention)
    return DenseAttend(dense_mask(layout, clean_attention))


def _ban(logits: Tensor, diffusion: DiffusionConfig) -> Tensor:
    if diffusion.banned_ids:
        logits = logits.clone()
        logits[..., list(diffusion.banned_ids)] = float("-inf")
    return logits


def _draft_residual(model: Transformer, stream: NoisyStream, length: int) -> ResidualInput | None:
    """The drafts of the noisy copies as a residual; None without any."""
    if stream.draft_BM is None or model.residual is None:
        return None
    draft_BM1 = F.pad(stream.draft_BM, (length, 0), value=-1)[..., None]
    ids_BM1, probs_BM1 = draft_BM1.clamp(min=0), (draft_BM1 >= 0).to(torch.float32)
    if model.config.residual is not None and model.config.residual.top_k is None:
        probs_BMV = F.one_hot(ids_BM1[..., 0], model.config.vocab_size) * probs_BM1
        ids_V = torch.arange(model.config.vocab_size, device=probs_BMV.device)
        return ResidualInput(ids_V.expand_as(probs_BMV), probs_BMV)
    return ResidualInput(ids_BM1, probs_BM1)


@torch.no_grad()
def _first_pass(
    model: Transformer,
    tokens: Tensor,
    layout: Layout,
    attend: Attend,
    stream: NoisyStream,
    draft: ResidualInput | None,
    length: int,
    diffusion: DiffusionConfig,
) -> ResidualInput:
    """The residual that the step after this state would consume, at open positions only."""
    assert model.config.residual is not None
    top_k = model.config.residual.top_k or model.config.vocab_size
    hidden = model(tokens, layout.position_BL, attend, draft)[:, length:][stream.open_BM]
    probs, ids = _ban(model.logits(hidden), diffusion).softmax(-1).topk(top_k, dim=-1)
    if torch.is_autocast_enabled(tokens.device.type):
        # Weights cast here were cast without a graph. Some torch versions keep such casts for the
        # forward that follows (pytorch #112583, #158232), whose weights then get no gradient.
        torch.clear_autocast_cache()
    if top_k == model.config.vocab_size:  # the adapter expects ids in order when all are kept
        ids, order = ids.sort(dim=-1)
        probs = probs.gather(-1, order)
    full_ids = torch.zeros(*tokens.shape, top_k, dtype=torch.int64, device=tokens.device)
    full_probs = torch.zeros(*tokens.shape, top_k, device=tokens.device)
    is_open = torch.zeros_like(tokens, dtype=torch.bool)
    is_open[:, length:] = stream.open_BM
    full_ids[is_open], full_probs[is_open] = ids, probs
    return ResidualInput(full_ids, full_probs)


def _ar_loss(
    model: Transformer, batch: PackedBatch, clean: Layout, hidden_BLD: Tensor, attention: str
) -> Tensor:
    """Mean next-token loss over answer tokens; a second, causal forward when clean is block-causal."""
    if model.config.clean_attention != "causal":
        attend = _attend(clean, "causal", attention)
        hidden_BLD = model(batch.tokens_BL, batch.positions_BL, attend, None)
    predicts = batch.answer_BL[:, 1:] & (batch.sample_BL[:, 1:] == batch.sample_BL[:, :-1])
    logits = model.logits(hidden_BLD[:, :-1][predicts])
    ce = F.cross_entropy(logits, batch.tokens_BL[:, 1:][predicts], reduction="sum")
    return ce / predicts.sum().clamp(min=1)
