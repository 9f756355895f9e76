"""Answers from the embedded model: one, a batch, a stream, and what each cost.

python examples/quickstart.py
"""

from __future__ import annotations

from dlmrt import LLM


def main() -> None:
    """Show the four things most programs need."""
    llm = LLM.load()  # the embedded model; LLM.load("path/to/folder") opens another

    result = llm.generate("this option controls wether the Output is writen to the screen ..")
    print(result.text)
    print(
        f"{len(result.ids)} tokens, {result.forwards.denoise} denoising forwards, "
        f"{result.tokens_per_forward:.1f} tokens a forward, {result.tokens_per_second:.0f} tokens/s "
        f"on {result.backend} ({result.backend_reason})"
    )

    for answer in llm.generate(["teh brush is duppicated .", "often people use git pul"], threshold=0.8):
        print("-", answer.text)

    for event in llm.stream("The  editor is opeend when a file changse .", max_new_tokens=64):
        print(event.text, end="", flush=True)
        if event.result is not None:
            print(f"  [{event.result.finish_reason}]")


if __name__ == "__main__":
    main()
