"""Write a filled report as one HTML file that needs no other files and no network."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from inweights.report.base.html import escape
from inweights.report.base.save import svg
from inweights_report.formulas import formula
from inweights_report.reading import READER, parse
from inweights_report.template import FOLDER, Filled

__all__ = ["web_page"]


def web_page(report: Filled) -> str:
    """Return a report as an HTML page that contains its figures and formulas."""
    pictures = {
        f"figures/{name}.svg": _uri(svg(picture, name))
        for name, picture in report.pictures.items()
    }
    writer = _Renderer(pictures)
    body = writer.render(parse(report.text), READER.options, {})
    title = escape(report.about["title"])
    facts = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(report.about[key])}</dd>"
        for key in ("of", "code", "data", "licence", "version")
    )
    css = (FOLDER / "report.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{css}</style></head><body><main>"
        f'<p class="kind">{escape(report.about["type"])}</p><h1>{title}</h1>'
        f"<p>{escape(report.about['authors'])}</p><dl>{facts}</dl>{body}</main></body></html>\n"
    )


class _Renderer(RendererHTML):
    """Writer of HTML that embeds pictures, and whose tables scroll in a narrow window."""

    def __init__(self, pictures: Mapping[str, str]) -> None:
        super().__init__()
        self.pictures = pictures

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        tokens[idx].attrs["src"] = self.pictures[str(tokens[idx].attrs["src"])]
        return super().image(tokens, idx, options, env)

    def table_open(self, *_: object) -> str:
        return '<div class="wide"><table>'

    def table_close(self, *_: object) -> str:
        return "</table></div>"

    def math_inline(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        made = formula(tokens[idx].content)
        style = f"height:{made.height / 10.5:.2f}em"
        style += f";vertical-align:-{made.depth / 10.5:.2f}em"
        alt = escape(tokens[idx].content)
        return (
            f'<img class="formula" alt="{alt}" style="{style}" src="{_uri(made.svg)}">'
        )

    def math_block(self, tokens: Sequence[Token], idx: int, *rest: object) -> str:
        return f"<p class='formula'>{self.math_inline(tokens, idx, *rest)}</p>"


def _uri(picture: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"
