from __future__ import annotations

import pytest

from dlmrt.bench.sse import Event, EventParser
from dlmrt.errors import ServerError


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_events_cut_anywhere(line_end: str) -> None:
    lines = [
        "\ufeff: comment",
        "data: {",
        'data:"ä 🙂"}',
        "",
        ": ping",
        "",
        "event: error",
        "data: x",
        "",
        "id: 1",
        "",
    ]
    data = line_end.join([*lines, "data: [DONE]"]).encode()
    expected = [Event('{\n"ä 🙂"}'), Event("x", "error"), Event("[DONE]")]
    for size in (1, 2, 3, 7, len(data)):
        parser = EventParser()
        events = [e for at in range(0, len(data), size) for e in parser.feed(data[at : at + size])]
        assert events + parser.close() == expected


def test_events_that_are_no_text_or_never_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerError, match="not UTF-8"):
        EventParser().feed(b"data: \xff\n\n")
    monkeypatch.setattr("dlmrt.bench.sse.MAX_LINE_BYTES", 1000)
    with pytest.raises(ServerError, match="inside its event stream"):
        EventParser().feed(b"x" * 1001)
