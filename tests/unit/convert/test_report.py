"""Reports as files: the same facts in each form, and nothing in a model's texts gets to act."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cli.app import run
from mswb.convert.verify.report import as_json, as_markdown, write
from mswb.convert.verify.report_html import as_html
from mswb.convert.verify.report_text import cells, share, worst_scaled
from mswb.findings import MswbError
from tests.unit.cli.test_convert import SCHEMA
from tests.unit.convert.onnx_models import model_of, saved
from tests.unit.convert.reports import failed, operator, passed

HOSTILE = """<script>alert(1)</script>"' onload=x | `x` [a](http://b) \x1b]0;t\x07 \u202e"""
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "table", "thead", "tbody", "tr",
    "th", "td", "div", "span", "i", "b", "p", "ul", "li", "details", "summary",
}  # fmt: skip


class Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.text = set[str](), set[str](), ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("make", [passed, failed])
def test_a_page_is_whole_and_needs_nothing(make: Any, lang: str) -> None:
    page = as_html(make(), lang)
    seen = Tags(page)
    assert not seen.open and seen.tags <= ALLOWED and seen.attributes <= {"lang", "charset", "http-equiv", "content",
                                                                          "class", "style"}  # fmt: skip
    assert not any(one in page for one in ("http://", "https://", "url("))
    assert "default-src &#x27;none&#x27;" in page
    for one in make()["operators"]:
        assert one["node"] in seen.text and one["op"] in seen.text


def test_the_operator_to_look_at_is_named_in_every_form() -> None:
    assert "the first to look at: Softmax softmax" in as_markdown(failed())
    assert "Softmax softmax is wrong: scaled" in as_markdown(failed()).replace("\\", "")
    page = Tags(as_html(failed()))
    assert "Softmax softmax is wrong" in page.text and "WRONG" in page.text
    assert json.loads(as_json(failed()))["operators"][0]["node"] == "softmax"
    assert "首先查看: Softmax softmax" in as_markdown(failed(), "zh")


@given(st.text(max_size=30) | st.just(HOSTILE))
def test_texts_of_a_model_do_nothing(text: str) -> None:
    report = failed()
    report["input"] = text
    report["engines"][text] = text
    report["operators"] = [operator(0, text, text, "failed", output=text, reason=text, dtype=text)]
    report["findings"][0]["title"] = text
    page = as_html(report)
    assert Tags(page).tags <= ALLOWED
    markdown = as_markdown(report)
    rows = [line for line in markdown.splitlines() if line.startswith("| 1 ")]
    assert len(rows) == 1 and rows[0].replace("\\\\", "").replace("\\|", "").count("|") == 12
    for shown in (page, markdown, as_json(report)):
        assert not any(one in shown for one in "\x1b\x07\u202e\x9b")
    assert json.loads(as_json(report))["input"] == text


def test_numbers_that_are_none_are_blank_and_infinite_errors_are_told() -> None:
    row = cells(operator(0, "Exp", "e", "failed", max_abs_error=None, local_max_abs_error=None, scaled_error=None,
                         local_scaled_error=None, cosine=None, local_errors_by_decade=[]))  # fmt: skip
    assert (row["local"], row["chain"], row["scaled"], row["cosine"]) == ("", "inf", "", "")


def test_the_bar_is_logarithmic() -> None:
    assert [share(value) for value in (None, 0.0, 1e-9, 10.0, 1e9)] == [0, 0, 0, 1, 1]
    assert share(1.0) == pytest.approx(6 / 7)
    assert worst_scaled(operator(0, "a", "a", "failed", scaled_error=9e9)) == 5000


@pytest.mark.parametrize("name", ["r.json", "r.md", "R.HTML"])
def test_a_report_is_written_for_everybody(name: str, tmp_path: Path) -> None:
    write(passed(), str(tmp_path / name))
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o644 and "conv1" in (tmp_path / name).read_text()


def test_another_suffix_is_refused_before_anything_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MswbError, match=r"r\.pdf is no form of a report"):
        write(passed(), str(tmp_path / "r.pdf"))
    source = saved(model_of("g (float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path, "net.onnx")
    assert run(["convert", "--input_file", str(source), "--report", str(tmp_path / "r.pdf")]) == 2
    assert "no form of a report" in capsys.readouterr().err
    assert not (tmp_path / "net.mindir").exists()


def test_a_conversion_writes_its_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = saved(model_of("g (float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path, "net.onnx")
    files = [tmp_path / name for name in ("r.json", "r.md", "r.html")]
    wanted = [part for file in files for part in ("--report", str(file))]
    assert run(["convert", "--input_file", str(source), *wanted, "--format", "json"]) == 0
    shown, kept = json.loads(capsys.readouterr().out), json.loads(files[0].read_text())
    assert shown == kept
    jsonschema.validate(kept, SCHEMA)
    assert "Neg" in files[1].read_text() and "Neg" in files[2].read_text()


def test_a_refusal_is_reported_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = model_of("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    model.graph.node[0].domain = "odd"
    model.opset_import.append(type(model.opset_import[0])(domain="odd", version=1))
    source = saved(model, tmp_path, "net.onnx")
    assert run(["convert", "--input_file", str(source), "--report", str(tmp_path / "r.md")]) == 1
    assert "refused" in (tmp_path / "r.md").read_text() and "odd.Neg" in (tmp_path / "r.md").read_text()
