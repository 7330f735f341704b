"""A run drawn: who worked when, and how much each step was sent.

Time is not drawn to one scale. A run may wait hours for a person between two steps of seconds, so
the time in which nobody works is given a small fixed part of the width, and a mark.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from markupsafe import Markup

from hornbook.loop.runs.timeline import Lane, StepTokens, Stretch
from hornbook.serve.console.svg import box, drawing, element, group, line, ticks, words

WIDTH = 1100.0
_LEFT = 84.0
_LANE = 34.0
_BAR = 20.0
_IDLE = 0.05
_LEAST = 0.006
"""Parts of the width: what a wait takes, and what the shortest stretch does."""
MOST_TOKENS = 8000
"""What a step of the embedded developer is never sent more than."""
_CLASSES = {
    "succeeded": "good",
    "refused": "bad",
    "erred": "bad",
    "cut off": "quiet",
    "": "busy",
}


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Where a time lies, from 0 to 1; waits are shortened."""

    times: tuple[float, ...]
    places: tuple[float, ...]
    waits: tuple[float, ...]
    """Where something was left out."""

    def at(self, moment: float) -> float:
        """The place of a time; what lies outside is at the border."""
        for (t0, t1), (x0, x1) in zip(pairwise(self.times), pairwise(self.places), strict=True):
            if moment <= t1:
                part = (moment - t0) / (t1 - t0) if t1 > t0 else 0.0
                return x0 + max(0.0, part) * (x1 - x0)
        return 1.0


def time_scale(spans: Sequence[tuple[float, float]]) -> TimeScale:
    """A scale over spans of work, in which time without any is short."""
    times = sorted({each for span in spans for each in span})
    if len(times) < 2:
        first = times[0] if times else 0.0
        return TimeScale((first, first + 1.0), (0.0, 1.0), ())
    busy = [any(b <= t0 and t1 <= e for b, e in spans) for t0, t1 in pairwise(times)]
    lengths = [t1 - t0 for t0, t1 in pairwise(times)]
    worked = sum(length for length, at_work in zip(lengths, busy, strict=True) if at_work) or 1.0
    weights = [
        max(length, _LEAST * worked) if at_work else min(length, _IDLE * worked)
        for length, at_work in zip(lengths, busy, strict=True)
    ]
    total = sum(weights)
    places, waits = [0.0], []
    for weight, length, at_work in zip(weights, lengths, busy, strict=True):
        places.append(places[-1] + weight / total)
        if not at_work and length > weight:
            waits.append((places[-1] + places[-2]) / 2)
    return TimeScale(tuple(times), tuple(places), tuple(waits))


def seconds(text: str) -> float:
    """A time as a number."""
    return datetime.fromisoformat(text).timestamp()


def lanes(stretches: Sequence[Stretch], now: str) -> Markup:
    """Who worked when, a lane for each; `now` ends what goes on."""
    shown = [lane for lane in Lane if any(each.lane is lane for each in stretches)]
    spans = [
        (seconds(each.begun), seconds(each.ended or now))
        for each in stretches
        if each.lane is not Lane.PERSON
    ]
    scale = time_scale(spans or [(seconds(each.begun), seconds(now)) for each in stretches])
    height = _LANE * len(shown) + 24
    parts: list[Markup] = []
    for row, lane in enumerate(shown):
        top = row * _LANE + 4
        parts.append(box(_LEFT, top, WIDTH - _LEFT, _LANE - 6, class_="lane", rx=4))
        parts.append(words(0, top + 19, str(lane)))
        parts += [_bar(each, top, scale, now) for each in stretches if each.lane is lane]
    for place in scale.waits:
        x = _LEFT + place * (WIDTH - _LEFT)
        parts.append(words(x, height - 6, "⋯", class_="soft", text_anchor="middle"))
    begun = min(each.begun for each in stretches)
    ended = max(each.ended or now for each in stretches)
    parts.append(words(_LEFT, height - 4, f"{begun[:16].replace('T', ' ')} UTC", class_="soft"))
    parts.append(words(WIDTH, height - 4, ended[11:19], class_="soft", text_anchor="end"))
    title = "Who worked when; the table below tells the same"
    return drawing(WIDTH, height, title, *parts)


def _bar(stretch: Stretch, top: float, scale: TimeScale, now: str) -> Markup:
    room = WIDTH - _LEFT
    x0 = _LEFT + scale.at(seconds(stretch.begun)) * room
    x1 = _LEFT + scale.at(seconds(stretch.ended or now)) * room
    kind = "warn" if stretch.lane is Lane.PERSON else _CLASSES.get(stretch.result, "quiet")
    took = seconds(stretch.ended or now) - seconds(stretch.begun)
    told = f"{stretch.step}: {stretch.result or 'goes on'}, {took:.1f} s"
    return box(x0, top + 4, max(3.0, x1 - x0 - 1), _BAR, class_=kind, rx=3, title=told)


def token_plot(steps: Sequence[StepTokens]) -> Markup:
    """How much each step was sent, against what none may have."""
    height, left, bottom = 220.0, 60.0, 190.0
    top = ticks(max(MOST_TOKENS, *(each.tokens for each in steps)), 4)
    room, tall = WIDTH - left - 10, bottom - 14

    def y(tokens: float) -> float:
        return bottom - tokens / top[-1] * tall

    def x(place: int) -> float:
        return left + (room * (place + 0.5) / len(steps))

    parts = [line(left, y(each), WIDTH - 10, y(each), class_="grid") for each in top]
    parts += [
        words(left - 8, y(each) + 4, f"{each:,.0f}", class_="soft", text_anchor="end")
        for each in top
    ]
    parts.append(line(left, y(MOST_TOKENS), WIDTH - 10, y(MOST_TOKENS), class_="limit"))
    parts.append(words(WIDTH - 12, y(MOST_TOKENS) - 5, "8000", text_anchor="end", class_="bad"))
    path = " ".join(
        f"{'L' if place else 'M'}{x(place):.1f} {y(each.tokens):.1f}"
        for place, each in enumerate(steps)
    )
    parts.append(element("path", d=path, class_="curve"))
    parts += [
        element(
            "circle",
            element(
                "title", f"attempt {each.attempt}, step {each.step} {each.action}: {each.tokens:,}"
            ),
            cx=x(place),
            cy=y(each.tokens),
            r=3,
            class_="dot",
        )
        for place, each in enumerate(steps)
    ]
    turns = [place for place, (a, b) in enumerate(pairwise(steps), 1) if a.attempt != b.attempt]
    for place in (0, *turns):
        at = x(place) - room * 0.5 / len(steps)
        parts.append(
            group(
                line(at, 14, at, bottom, class_="grid"),
                words(at + 4, height - 12, f"attempt {steps[place].attempt}", class_="soft"),
            )
        )
    most = max(each.tokens for each in steps)
    title = f"Tokens of {len(steps)} steps, at most {most:,}; none may have more than 8000"
    return drawing(WIDTH, height, title, *parts)
