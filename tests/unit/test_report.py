from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Status
from codegym.errors import ConfigError
from codegym.evaluation import Evaluation, Result, summarise
from codegym.report import BarChart, LineChart, Section, Table, write_evaluation_report, write_report

FINITE = st.floats(-1e12, 1e12, allow_subnormal=False)
POINTS = st.lists(st.tuples(FINITE, st.none() | FINITE | st.just(math.nan)))


class Balanced(HTMLParser):
    """Fails on tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(text: str) -> list[str]:
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser.seen


@given(
    st.dictionaries(st.text(max_size=5), st.lists(st.tuples(FINITE, st.none() | FINITE | st.just(math.nan))))
)
def test_every_line_chart_is_well_formed(series: dict[str, list[tuple[float, float | None]]]) -> None:
    svg = LineChart(series, x="<step>", y="a & b").svg()
    assert "nan" not in re.sub(r"<title>.*?</title>|<text.*?</text>", "", svg)
    check(svg)


def test_a_line_with_a_gap_is_two_pieces() -> None:
    svg = LineChart(
        {"reward": [(0, 0.1), (1, 0.2), (2, None), (3, 0.4), (4, 0.5), (5, math.inf), (6, 0.7)]}
    ).svg()
    root = ElementTree.fromstring(svg)
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert names.count("polyline") == 2
    assert names.count("circle") == 1


def test_bars_are_as_long_as_their_values() -> None:
    root = ElementTree.fromstring(BarChart({"wrong": 4, "timeout": 1, "error": 0}).svg())
    widths = [float(element.attrib["width"]) for element in root.iter() if element.tag.endswith("rect")]
    assert widths[0] == pytest.approx(4 * widths[1], abs=0.3)
    assert widths[2] == 0
    assert "no data" in BarChart({}).svg()
    with pytest.raises(ConfigError, match="got -1 for 'x'"):
        BarChart({"x": -1})


def test_a_report_is_one_file_and_escapes_what_programs_wrote(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\ud800"
    sections = [
        Section("A <b>", html="<p>trusted</p>"),
        Section("T", table=Table(["n", "text"], [[0.123456, hostile], [True, None]])),
        Section("C", chart=BarChart({"<i>": 1}), table=Table([], [])),
    ]
    path = write_report(tmp_path / "new/report.html", "Title & more", sections)
    text = path.read_text(encoding="utf-8")
    seen = check(text)
    assert not {"script", "link", "img", "b", "i"} & set(seen)
    assert "<title>Title &amp; more</title>" in text
    assert "0.123" in text
    assert "<p>trusted</p>" in text
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_a_table_has_rows_of_one_length() -> None:
    with pytest.raises(ConfigError, match="a row of 1 cells in a table of 2 columns"):
        Table(["a", "b"], [[1]])


def test_the_report_of_an_evaluation(tmp_path: Path) -> None:
    results = tuple(
        Result(
            task_id=f"T/{number}",
            sample_index=0,
            program="",
            status=Status.WRONG if number else Status.PASSED,
            tiers={"base": Status.PASSED, "plus": Status.WRONG if number else Status.PASSED},
            passed=1,
            tests=2,
            message=f"because <{number}>",
        )
        for number in range(3)
    )
    summary = {"dataset": "humaneval+", **summarise(results, ["T/0", "T/1", "T/2", "T/3"], [1])}
    evaluation = Evaluation(summary=summary, results=results, output=tmp_path)
    text = write_evaluation_report(tmp_path / "report.html", evaluation).read_text()
    check(text)
    assert "Evaluation of humaneval+" in text
    assert "Tasks without a sample: T/3." in text
    assert "because &lt;2&gt;" in text
    assert "0.333" in text
