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
