"""The page's style sheet and script, written into it: the page loads nothing."""

from __future__ import annotations

STYLE = """
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: #ffffff; color: #1a1a1a;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
h1, h2, h3 { line-height: 1.25; font-weight: 600; margin: 0 0 .5rem; text-wrap: balance; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.25rem; }
h3 { font-size: 1rem; }
p { margin: 0 0 .75rem; max-width: 44rem; }
section { margin: 3rem 0; }
.card { max-width: 44rem; margin: 2.5rem auto 3.5rem; padding: 1.75rem 2rem 1.25rem;
  border: 1px solid #c9c9c9; border-top: 5px solid #1a1a1a; }
.card h1 { margin-bottom: 1rem; }
.scroll { overflow-x: auto; max-width: 100%; margin: 0 0 1rem; position: relative; }
.scroll:focus-visible, input:focus-visible, summary:focus-visible {
  outline: 3px solid #0072B2; outline-offset: 2px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9375rem; }
caption { max-width: min(44rem, calc(100vw - 2.5rem)); text-align: left; color: #4d4d4d;
  font-size: .875rem; padding: 0 0 .4rem; }
th, td { padding: .3rem .75rem; text-align: left; vertical-align: top; font-weight: 400;
  border-bottom: 1px solid #e2e2e2; overflow-wrap: normal; }
tbody th, .card tbody th { overflow-wrap: anywhere; min-width: 7rem; }
th:first-child, td:first-child { padding-left: 0; }
thead th { font-weight: 600; font-size: .875rem; border-bottom: 1.5px solid #1a1a1a;
  vertical-align: bottom; }
.figure { text-align: right; white-space: nowrap; }
thead .figure { white-space: normal; }
tr.own th, tr.own td { font-weight: 600; background: #f1f1f1; }
.card table { width: 100%; }
.card tbody.feature { break-inside: avoid; }
.card tbody.feature th { font-weight: 600; }
.card-lines td.figure { font-weight: 600; font-size: 1.0625rem; }
th.box, td.box { width: 5rem; min-width: 3.5rem; text-align: center; }
td.box { border: 1px solid #8c8c8c; }
.card-total { display: flex; justify-content: flex-end; align-items: center; gap: 1rem;
  font-weight: 600; font-size: 1.125rem; margin: .25rem 0 1rem; max-width: none; }
.card-total .box { width: 5rem; height: 2.1rem; border: 2px solid #1a1a1a; }
.card-rule { font-size: 1.125rem; max-width: none; padding: .6rem 0;
  border-top: 1px solid #1a1a1a; border-bottom: 1px solid #1a1a1a; }
.card-risks thead th { font-weight: 600; }
.card-risks table { width: auto; }
.card-risks th, .card-risks td { padding: .15rem 1rem .15rem 0; }
.card-risks tbody th { min-width: 4rem; white-space: nowrap; }
.card-foot { color: #4d4d4d; font-size: .8125rem; line-height: 1.45; }
.card-foot p { margin: 0 0 .3rem; max-width: none; }
.proof { border-left: 5px solid #1a1a1a; padding: .1rem 0 .1rem 1.1rem; margin: 0 0 1rem; }
.proof.gap, .proof.feasible, .proof.none { border-left-style: dashed; border-color: #6b6b6b; }
.proof.warn { border-left: 5px double #9c1c00; }
.proof p:first-child { font-size: 1.1875rem; line-height: 1.45; }
.warn strong { color: #9c1c00; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: 1.5rem 2.5rem; align-items: start; }
.pair > * { min-width: 0; max-width: 30rem; }
figure { margin: 0 0 1.5rem; max-width: 34rem; }
figure svg { display: block; width: 100%; height: auto; }
svg text { font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, Arial, "DejaVu Sans",
  sans-serif; fill: #333333; }
figcaption { color: #4d4d4d; font-size: .875rem; line-height: 1.45; margin-top: .4rem; }
.note, footer { color: #4d4d4d; font-size: .875rem; }
.confusion .wrong { background: #f1f1f1; font-style: italic; }
.confusion th, .confusion td { vertical-align: baseline; }
.confusion td.figure { font-size: 1.25rem; }
.slider label { display: block; font-weight: 600; margin-bottom: .25rem; }
.slider input { width: 100%; max-width: 30rem; height: 2rem; accent-color: #0072B2; }
.slider output { display: block; min-height: 3.1em; max-width: 44rem; }
details { margin: 0 0 1.25rem; }
summary { cursor: pointer; padding: .35rem 0; color: #00568a; text-decoration: underline;
  text-underline-offset: .2em; }
details .scroll { max-height: 26rem; overflow-y: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.25rem; margin: 0 0 1rem; }
dl { font-size: .875rem; }
dt { color: #4d4d4d; }
dd { margin: 0; }
footer { border-top: 1px solid #e2e2e2; padding-top: 1rem; padding-bottom: 2.5rem; }
[hidden] { display: none; }
@media (max-width: 34rem) {
  .card { padding: 1.25rem 1rem .75rem; margin: 1rem auto 2.5rem; }
  main, footer { padding: 0 1rem; }
  th.box, td.box { min-width: 2.75rem; width: 2.75rem; }
  .card th, .card td { padding-left: .3rem; padding-right: .3rem; }
  .card tbody th { font-size: .875rem; min-width: 7.5rem; }
  .card td { white-space: nowrap; }
  .card .card-risks tbody th { min-width: 3.5rem; }
  dl { grid-template-columns: 1fr; }
  dd { margin-bottom: .4rem; }
}
@media print {
  @page { margin: 16mm; }
  body { font-size: 10.5pt; color: #000000; }
  main, footer { max-width: none; padding: 0; }
  .card { max-width: none; margin: 0; padding: 0; border: 0; border-top: 3pt solid #000000;
    padding-top: 6mm; break-after: page; }
  .card-foot, caption, figcaption, .note, footer, dt { color: #000000; }
  .scroll, details .scroll { overflow: visible; max-height: none; }
  .slider, details:not([open]) { display: none; }
  .pair { grid-template-columns: 1fr 1fr; gap: 4mm 8mm; }
  section { margin: 0 0 8mm; }
  figure, .proof, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .dense h1, .long h1 { font-size: 14pt; margin-bottom: 2mm; }
  .dense .card-lines table, .dense .card-risks table { font-size: 8.5pt; line-height: 1.3; }
  .dense thead th, .dense caption, .dense td.figure { font-size: 8.5pt; }
  .dense th, .dense td { padding-top: .4mm; padding-bottom: .4mm; }
  .long .card-lines { columns: 2; column-gap: 6mm; }
  .long .card-lines table, .long .card-risks table { font-size: 7pt; line-height: 1.25; }
  .long thead th, .long caption, .long td.figure { font-size: 7pt; }
  .long th, .long td { padding: .25mm 1mm; white-space: nowrap; }
  .long .card-lines tbody th { min-width: 0; width: 65%; white-space: normal; }
  .long th.box, .long td.box { min-width: 9mm; width: 9mm; }
  .dense .card-total, .long .card-total, .dense .card-rule, .long .card-rule {
    font-size: 11pt; margin: 1mm 0; padding: 1mm 0; }
  .dense .card-foot, .long .card-foot { font-size: 7.5pt; line-height: 1.3; }
  tr.own th, tr.own td, .confusion .wrong { background: none; }
}
"""

SCRIPT = """
(function () {
  "use strict";
  var cuts = JSON.parse(document.getElementById("cuts").textContent);
  var input = document.getElementById("cut"), output = document.getElementById("cut-answer");
  function put(id, name, value) {
    var node = document.getElementById(id);
    if (node) { node.setAttribute(name, value); }
  }
  function show() {
    var cut = cuts[Number(input.value)];
    ["tp", "fp", "fn", "tn"].forEach(function (name) {
      document.getElementById("cell-" + name).textContent = cut[name];
    });
    output.textContent = cut.text;
    input.setAttribute("aria-valuetext", cut.label);
    put("fig-roc-mark", "cx", cut.cx);
    put("fig-roc-mark", "cy", cut.cy);
    put("fig-totals-mark", "x1", cut.x);
    put("fig-totals-mark", "x2", cut.x);
  }
  input.addEventListener("input", show);
  document.getElementById("cut-back").addEventListener("click", function () {
    input.value = input.getAttribute("data-own");
    show();
  });
  input.value = input.getAttribute("data-own");
  show();
  document.getElementById("slider").hidden = false;
}());
"""
