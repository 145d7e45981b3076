(function () {
  "use strict";
  var card = JSON.parse(document.getElementById("boxes").textContent);
  var bodies = document.querySelectorAll(".card .card-lines tbody.feature"), boxes = [];
  var shown = document.querySelector(".card .card-total .box");
  var output = document.getElementById("tick-answer");
  shown.parentNode.parentNode.insertBefore(document.getElementById("ticked"),
    shown.parentNode.nextSibling);
  function percent(risk) {
    if (risk < 0.0005) { return "< 0.1%"; }
    return risk >= 0.9995 ? "> 99.9%" : (100 * risk).toFixed(1) + "%";
  }
  function minus(number) { return String(number).replace("-", "\u2212"); }
  function add() {
    var total = 0, any = false;
    boxes.forEach(function (box) {
      var given = box.line.unit ? parseFloat(box.input.value) : Number(box.input.checked);
      if (given || box.input.value !== "" && box.line.unit) { any = true; }
      total += (given || 0) * box.line.points;
    });
    total = Math.round(total * 1e9) / 1e9;
    shown.textContent = any ? minus(total) : "";
    if (!any) { output.textContent = ""; return; }
    var text = "Total " + minus(total) + ": the card says ";
    text += card.answers[total >= card.cut - card.tolerance ? 1 : 0];
    if (card.risk) {
      text += ", risk " + percent(1 / (1 + Math.exp(-(total - card.risk[0]) / card.risk[1])));
    }
    output.textContent = text + ".";
  }
  card.features.forEach(function (lines, k) {
    lines.forEach(function (line, i) {
      var input = document.createElement("input");
      input.type = line.unit ? "number" : "checkbox";
      if (line.unit) { input.step = "any"; input.placeholder = " "; }
      input.setAttribute("aria-label", line.says);
      bodies[k].rows[i].querySelector("td.box").appendChild(input);
      boxes.push({ line: line, input: input, feature: k });
      input.addEventListener("input", function () {
        boxes.forEach(function (other) {
          var alone = line.group === -1 || other.line.group === -1;
          if (input.checked && other.input !== input && other.feature === k &&
              (alone || other.line.group === line.group)) { other.input.checked = false; }
        });
        add();
      });
    });
  });
}());
(function () {
  "use strict";
  var cuts = JSON.parse(document.getElementById("cuts").textContent);
  var input = document.getElementById("cut"), output = document.getElementById("cut-answer");
  function move(id, across, down) {
    var node = document.getElementById(id);
    if (node) { node.setAttribute("transform", "translate(" + across + " " + down + ")"); }
  }
  function show() {
    var cut = cuts[Number(input.value)];
    ["tp", "fp", "fn", "tn"].forEach(function (name) {
      document.getElementById("cell-" + name).textContent = cut[name];
    });
    output.textContent = cut.text;
    input.setAttribute("aria-valuetext", cut.label);
    move("fig-roc-mark", cut.roc[0], cut.roc[1]);
    move("fig-totals-mark", cut.totals[0], 0);
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
