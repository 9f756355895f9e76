"""From a user's text to a typed result: requests, text, stop strings, backends and :class:`LLM`.

Nothing here imports torch or a model's weights at import; ``llm.LLM.load`` is where that happens.
"""
