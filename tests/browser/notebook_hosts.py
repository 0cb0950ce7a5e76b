"""Rules that notebooks have for what stands in the output of a cell, and the elements around it."""

from __future__ import annotations

__all__ = ["HOSTS", "in_host"]

_JUPYTER = """
.jp-RenderedHTMLCommon { font-family: serif; font-size: 17px; line-height: 1.9; padding-right: 20px; }
.jp-RenderedHTMLCommon a:link { text-decoration: none; color: rgb(1, 2, 3); }
.jp-RenderedHTMLCommon code, .jp-RenderedHTMLCommon pre { border: 0; background-color: rgb(4, 5, 6);
  font-size: inherit; }
.jp-RenderedHTMLCommon p > code { background-color: rgb(7, 8, 9); padding: 1px 5px; }
.jp-RenderedHTMLCommon table { border-spacing: 0; border: none; color: rgb(10, 11, 12); font-size: 12px;
  table-layout: fixed; margin-left: auto; margin-bottom: 1em; margin-right: auto; }
.jp-RenderedHTMLCommon thead { border-bottom: 1px solid rgb(13, 14, 15); vertical-align: bottom; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr { vertical-align: middle;
  padding: .5em; line-height: normal; white-space: normal; max-width: none; border: none; }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td, :not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th,
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon tr { text-align: right; }
.jp-RenderedHTMLCommon th { font-weight: bold; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: rgb(200, 201, 202); }
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: rgb(203, 204, 205); }
.jp-RenderedHTMLCommon p { text-align: left; margin: 0 0 1em; }
.jp-RenderedHTMLCommon img, .jp-RenderedHTMLCommon svg { max-width: 100%; }
.jp-RenderedHTMLCommon dl dt { font-weight: bold; float: left; clear: left; width: 20%; }
.jp-RenderedHTMLCommon dl dd { margin-left: 22%; padding: 4px; }
.jp-RenderedHTMLCommon figure { margin: 3em; }
.jp-RenderedHTMLCommon summary, .jp-RenderedHTMLCommon b { letter-spacing: 2px; }
"""

_CLASSIC = """
html { font-size: 10px; }
* { box-sizing: border-box; }
dl { margin-bottom: 18px; } dt { font-weight: bold; } dt, dd { line-height: 1.42857143; }
.rendered_html { color: #000; }
.rendered_html table { margin-left: auto; margin-right: auto; border: none; color: black; font-size: 12px;
  table-layout: fixed; }
.rendered_html td, .rendered_html th, .rendered_html tr { text-align: right; vertical-align: middle; padding: .5em;
  line-height: normal; white-space: normal; max-width: none; border: none; }
.rendered_html tbody tr:nth-child(odd) { background: #f5f5f5; }
.rendered_html * + p { margin-top: 1em; }
.rendered_html code { background-color: #eff0f1; padding: 1px 5px; }
figure { margin: 0; } caption { padding-top: 8px; color: #777; } summary { display: list-item; }
code { color: #c7254e; background-color: #f9f2f4; border-radius: 2px; }
"""

_VSCODE = """
:root { --vscode-editor-foreground: #cccccc; --vscode-textLink-foreground: #3794ff;
  --vscode-textPreformat-foreground: #d7ba7d; --vscode-font-family: monospace; --vscode-font-size: 13px; }
body { color: var(--vscode-editor-foreground); font-family: var(--vscode-font-family);
  font-size: var(--vscode-font-size); }
a, a code { color: var(--vscode-textLink-foreground); }
code { color: var(--vscode-textPreformat-foreground); background-color: rgba(9, 9, 9, .4); padding: 1px 3px;
  border-radius: 4px; }
img, video, svg { max-width: 100%; max-height: 100%; }
table, thead, tr, th, td, tbody { border: none; border-color: transparent; border-spacing: 0;
  border-collapse: collapse; }
table, th, tr { vertical-align: middle; text-align: right; }
thead { font-weight: bold; background-color: rgba(130, 130, 130, .16); }
th, td { padding: 4px 8px; }
tr:nth-child(even) { background-color: rgba(130, 130, 130, .08); }
"""

_COLAB = """
html[theme="dark"] body { background-color: #1e1e1e; color: #d5d5d5; }
body { font-family: Roboto, sans-serif; font-size: 14px; line-height: 20px; }
.rendered_html table { border-collapse: collapse; white-space: nowrap; }
.rendered_html th, .rendered_html td { border: 1px solid #ccc; padding: 4px 8px; text-align: left; }
.rendered_html tr:nth-child(odd) { background-color: #f5f5f5; }
html[theme="dark"] .rendered_html tr:nth-child(odd) { background-color: #383838; }
html[theme="dark"] .rendered_html a { color: #8ab4f8; }
.rendered_html p, .rendered_html dd { margin: 10px; }
"""

HOSTS = {
    "jupyterlab-light": (
        _JUPYTER,
        "",
        'data-jp-theme-light="true"',
        "jp-RenderedHTMLCommon jp-RenderedHTML",
        "light",
    ),
    "jupyterlab-dark": (_JUPYTER, "", 'data-jp-theme-light="false"', "jp-RenderedHTMLCommon jp-RenderedHTML", "dark"),
    "classic": (_CLASSIC, 'data-theme="light"', "", "output_html rendered_html", "light"),
    "vscode-light": (_VSCODE, "", 'class="vscode-light"', "output", "light"),
    "vscode-dark": (_VSCODE, "", 'class="vscode-dark"', "output", "dark"),
    "vscode-high-contrast": (_VSCODE, "", 'class="vscode-high-contrast"', "output", "dark"),
    "colab-light": (_COLAB, 'theme="light"', "", "output_html rendered_html", "light"),
    "colab-dark": (_COLAB, 'theme="dark"', "", "output_html rendered_html", "dark"),
}
"""Name to rules, attributes of the page and of its body, classes around an output, and the scheme that is meant."""

_OWN = (
    '<dl id="own"><dt>a <code>b</code></dt><dd>c</dd></dl><table><tbody><tr><th>d</th><td>e</td></tr></tbody></table>'
)


def in_host(host, shown=""):
    """Return a page with the output of a cell as a notebook shows it, beside elements of its own."""
    css, page, body, classes, _ = HOSTS[host]
    return (
        f'<!DOCTYPE html><html lang="en" {page}><meta charset="utf-8"><title>Notebook</title><style>{css}</style>'
        f'<body {body}><main><div class="{classes}">{shown}</div>'
        f'<div class="{classes}">{_OWN}</div></main></body></html>'
    )
