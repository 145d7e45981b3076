// The page of a desk. mount(root, link) draws it; link.act, link.ask and link.stop reach the desk,
// link.listen(tell) hears of it: {kind: "changed" | "trace" | "file", ...}.

const RULES = {
  "Points never fall along a feature": 'type = "monotone"\nfeatures = "FEATURE"',
  "At most k of a group": 'type = "at_most"\nk = 1\ncolumns = ["FEATURE", "FEATURE"]',
  "One or the other": 'type = "either_or"\nfirst = "FEATURE"\nsecond = "FEATURE"',
  "Points of one sign": 'type = "sign"\ncolumns = "FEATURE"\nsign = "+"',
  "Points in a range": 'type = "range"\ncolumns = "FEATURE"\nlower = 0\nupper = 3',
  "Few false alarms": 'type = "max_fpr"\nvalue = 0.2',
  "Few positives missed": 'type = "min_tpr"\nvalue = 0.9',
  "At most k features": 'type = "max_features"\nk = 3',
};

const fixed = (value, digits) => (value === null ? "–" : value.toFixed(digits));
const signed = (value) => String(value).replace("-", "\u2212");

// Escape what cannot be seen or reorders text, as the commands do in what they print.
export const printable = (text) => text.replace(/[\p{C}\p{Z}]/gu, (mark) => {
  const code = mark.codePointAt(0), known = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  const hex = (kind, digits) => `\\${kind}${code.toString(16).padStart(digits, "0")}`;
  if (mark === " ") return mark;
  return known[mark] ?? (code < 256 ? hex("x", 2) : code < 65536 ? hex("u", 4) : hex("U", 8));
});

function made(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null) node.setAttribute(key, key === "aria-label" ? printable(value) : value);
  }
  node.append(...children.map((each) => (typeof each === "string" ? printable(each) : each)));
  return node;
}

export function mount(root, link) {
  const at = (id) => root.querySelector(`[data-id="${id}"]`);
  const put = (id, text) => { at(id).textContent = printable(text); };
  const opened = new Set(); // lines without points that were asked for
  let state = null, trace = [], busy = 0, stale = false;

  function complain(text) {
    put("error", text);
    at("error").hidden = !text;
  }

  async function reach(what) {
    busy += 1;
    try {
      const answer = await what();
      complain("");
      if (answer && answer.lines) show(answer);
    } catch (error) {
      complain(error.message);
      if (state) show(state); // what was typed is not what holds
    } finally {
      busy -= 1;
      if (!busy && stale) refresh();
    }
  }
  function able(button, can) {
    const focused = document.activeElement === button;
    button.disabled = !can;
    if (focused && !can) root.querySelector('[data-ask="best"]').focus(); // else it is lost
  }
  const act = (request) => reach(() => link.act(request));
  const ask = (what) => reach(() => link.ask(what));
  function refresh() {
    stale = busy > 0;
    if (!stale) reach(() => link.state());
  }

  // ---------------------------------------------------------------- what is drawn

  function lineOf(line) {
    const says = line.column === line.feature ? "points" : line.column;
    const input = made("input", {
      type: "number", step: 1, min: line.least, max: line.most, "data-column": line.column,
      "aria-label": `Points of ${line.column}`,
      onchange: (event) => {
        if (event.target.value === "" || !event.target.validity.valid) {
          complain(`${line.column}: whole points from ${line.least} to ${line.most}`);
          event.target.value = line.points;
        } else {
          opened.add(line.column);
          act({ do: "points", column: line.column, points: Number(event.target.value) });
        }
      },
    });
    const lock = made("button", {
      type: "button", class: "small", "data-lock": line.column,
      "aria-label": `Lock the points of ${line.column}`,
      onclick: (event) => act({
        do: "lock", column: line.column,
        hold: event.currentTarget.getAttribute("aria-pressed") !== "true",
      }),
    }, "Lock");
    return made("div", { class: "line" }, made("span", {}, says), input, lock);
  }

  function groupOf(name, lines) {
    const wish = (kind, says) => made("button", {
      type: "button", class: "small", "data-wish": kind, "aria-label": `${says} ${name}`,
      onclick: (event) => act(event.currentTarget.getAttribute("aria-pressed") === "true"
        ? { do: "drop", key: `${kind} ${name}` } : { do: kind, name }),
    }, says);
    return made("div", { class: "group", role: "group", "aria-label": name, "data-feature": name },
      made("div", { class: "head" }, made("strong", {}, name),
        made("div", { class: "buttons" }, wish("forbid", "Forbid"), wish("demand", "Demand"))),
      ...lines.map(lineOf));
  }

  function showLines() {
    const wished = new Map(state.features.map((each) => [each.name, each.wish]));
    const shown = state.lines.filter((line) => line.points || line.locked ||
      opened.has(line.column));
    const groups = new Map(); // in the order of the table, whatever is wished
    for (const [name, wish] of wished) {
      const own = shown.filter((line) => line.feature === name);
      if (wish || own.length) groups.set(name, own);
    }
    const box = at("lines");
    const layout = JSON.stringify([...groups].map(([name, own]) => [name, own.map((l) => l.column)]));
    if (box.dataset.layout !== layout) { // else what has the focus stays
      const focus = document.activeElement;
      const column = focus && focus.dataset && (focus.dataset.column || focus.dataset.lock);
      box.replaceChildren(...[...groups].map(([name, own]) => groupOf(name, own)));
      box.dataset.layout = layout;
      if (column) {
        const kind = focus.dataset.column ? "column" : "lock";
        const again = box.querySelector(`[data-${kind}="${CSS.escape(column)}"]`);
        if (again) again.focus();
      }
    }
    for (const line of shown) {
      const input = box.querySelector(`[data-column="${CSS.escape(line.column)}"]`);
      input.value = line.points;
      box.querySelector(`[data-lock="${CSS.escape(line.column)}"]`)
        .setAttribute("aria-pressed", line.locked);
    }
    for (const group of box.children) {
      for (const button of group.querySelectorAll("[data-wish]")) {
        button.setAttribute("aria-pressed",
          wished.get(group.dataset.feature) === button.dataset.wish);
      }
    }
    const rest = state.lines.filter((line) => !shown.includes(line)).map((line) => line.column);
    const more = at("more");
    if (more.dataset.layout !== JSON.stringify(rest)) {
      more.replaceChildren(...rest.map((name) => made("option", { value: name }, name)));
      more.dataset.layout = JSON.stringify(rest);
    }
    more.disabled = at("add").disabled = !rest.length;
  }

  function showFigures() {
    const f = state.figures;
    at("figures").replaceChildren(...Object.entries(state.said).map(([name, value]) =>
      made("div", {}, made("dt", {}, name), made("dd", {}, value))));
    const far = f.objective - (state.free.best ?? NaN);
    put("brief", `Loss ${fixed(f.loss, 4)}, ${state.brief}` +
      (Number.isNaN(far) ? "" : `, ${fixed(Math.max(far, 0), 4)} above the best`));
    at("broken").replaceChildren(...state.broken.map((text) => made("li", {}, text)));
    for (const [id, head] of [["free", "Without wishes"], ["held", "With your wishes"]]) {
      put(id, `${head}: ${state[id].says}`);
      at(id).classList.toggle("proved", state[id].proved);
      at(id).hidden = id === "held" && !state.wishes.length;
    }
    at("in-use").hidden = root.querySelector('[data-act="back"]').hidden = !state.in_use;
    if (state.in_use) {
      put("in-use", `The card in use: ${state.in_use.price}. ${state.in_use.counted}`);
      at("in-use").classList.toggle("proved", state.in_use.proved);
    }
    at("roc").hidden = !state.roc;
    if (state.roc) showCurve(state.roc);
    at("risk-box").hidden = !state.risks.length;
    tabled("risk", state.risks.length ? state.risks : [[]]);
    tabled("print", state.print.lines);
    put("print-said", state.print.says);
  }

  function showCurve(roc) {
    const place = ([x, y]) => `${30 + 180 * x},${190 - 180 * y}`;
    at("curve").setAttribute("points", roc.curve.map(place).join(" "));
    const [x, y] = place(roc.at).split(",");
    at("at").setAttribute("cx", x);
    at("at").setAttribute("cy", y);
    put("roc-said", roc.says);
  }

  function tabled(id, [heads, ...rest]) {
    at(`${id}-heads`).replaceChildren(...heads.map((text) => made("th", { scope: "col" }, text)));
    at(`${id}-rows`).replaceChildren(...rest.map((cells) => made("tr", {}, ...cells.map((text, k) =>
      k ? made("td", {}, text) : made("th", { scope: "row" }, text)))));
  }

  function showThreshold() {
    at("terms").value = state.max_terms === null ? "" : state.max_terms;
    put("terms-said", `This card has ${state.terms}.` +
      (state.max_terms === null ? " No limit." : " Leave it empty for no limit."));
    at("decision").hidden = !state.threshold;
    if (!state.threshold) return;
    const { total, totals, moved } = state.threshold, cut = at("cut");
    cut.max = totals.length; // the last place answers nobody positive
    const place = totals.findIndex((each) => each >= total - 1e-9);
    cut.value = place < 0 ? totals.length : place;
    const says = `${signed(Number(total.toFixed(4)))}${moved ? " (moved)" : ""}`;
    put("cut-said", says);
    cut.setAttribute("aria-valuetext", `a total of ${says}`);
    able(root.querySelector('[data-act="own"]'), moved);
  }

  function showWishes() {
    at("no-wishes").hidden = state.wishes.length > 0;
    able(at("all-prices"), state.wishes.length);
    const box = at("wishes"), focus = document.activeElement;
    const held = box.contains(focus) ? focus.getAttribute("aria-label") : null;
    box.replaceChildren(...state.wishes.map((wish) => made("li", {},
      made("span", {}, wish.says), made("span", { class: "price" }, `Alone: ${wish.price}`),
      made("span", { class: "note" }, wish.counted),
      made("div", { class: "buttons" },
        made("button", { type: "button", class: "small", "aria-label": `Price of: ${wish.says}`,
          onclick: () => ask(`price ${wish.key}`) }, "Price"),
        made("button", { type: "button", class: "small", "aria-label": `Drop: ${wish.says}`,
          onclick: () => act({ do: "drop", key: wish.key }) }, "Drop")))));
    if (held) {
      const again = [...box.querySelectorAll("button")]
        .find((each) => each.getAttribute("aria-label") === held);
      (again || at("all-prices")).focus();
    }
    at("together").hidden = !state.wishes.length;
    put("together", `All wishes together: ${state.together.price}`);
    put("counted", state.wishes.length > 1 ? state.together.counted : "");
  }

  function showSearch() {
    const { running, waiting, said } = state.search;
    const queue = waiting.length ? ` ${waiting.length} more wait.` : "";
    put("status", running ? `Searching: ${running}.${queue}` : said || "Ready.");
    able(at("stop"), running);
    if (!running) {
      trace = [];
      put("progress-said", "");
    }
    at("progress").hidden = !trace.length;
    for (const name of ["undo", "redo"]) {
      able(root.querySelector(`[data-act="${name}"]`), state[name]);
    }
    const none = (one) => one.best === null || one.own;
    able(root.querySelector('[data-act="take"]'), !none(state.held));
    able(root.querySelector('[data-act="take-free"]'), !none(state.free));
    able(root.querySelector('[data-act="back"]'), state.in_use && !state.in_use.own);
  }

  function showTrace(event) {
    const best = event.objective ?? null, bound = event.bound ?? 0;
    trace.push([event.seconds, best, Math.max(bound, 0)]);
    const gap = best ? ` Gap ${(100 * (best - bound) / best).toFixed(2)} %.` : "";
    put("progress-said", `${event.says}: best card ${fixed(best, 5)}, proved bound ` +
      `${fixed(Math.max(bound, 0), 5)}.${gap} ${event.nodes} nodes, ${event.seconds.toFixed(1)} s.`);
    const last = Math.max(event.seconds, 1e-9);
    const top = Math.max(...trace.map((each) => each[1] ?? 0), 1e-9);
    const low = Math.min(...trace.map((each) => each[2]));
    const place = (t, v) => `${300 * t / last},${56 - 52 * (v - low) / Math.max(top - low, 1e-9)}`;
    at("trace-best").setAttribute("points",
      trace.filter((each) => each[1] !== null).map(([t, v]) => place(t, v)).join(" "));
    at("trace-bound").setAttribute("points", trace.map(([t, , v]) => place(t, v)).join(" "));
    at("progress").hidden = false;
  }

  function show(next) {
    if (state && next.revision < state.revision) return; // an older answer came late
    state = next;
    put("title", state.title);
    showLines();
    showFigures();
    showThreshold();
    showWishes();
    showSearch();
  }

  // ---------------------------------------------------------------- what is pressed

  const ACTS = {
    undo: { do: "undo" }, redo: { do: "redo" }, own: { do: "threshold", total: null },
    take: { do: "take", wishes: true }, "take-free": { do: "take", wishes: false },
    back: { do: "back" },
  };
  for (const button of root.querySelectorAll("[data-act]")) {
    button.addEventListener("click", () => act(ACTS[button.dataset.act]));
  }
  for (const button of root.querySelectorAll("[data-ask]")) {
    button.addEventListener("click", () => ask(button.dataset.ask));
  }
  at("stop").addEventListener("click", () => reach(() => link.stop()));
  at("save").addEventListener("click", () => reach(async () => {
    const { name, text } = await link.session();
    const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    made("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
  }));
  at("open").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) reach(async () => link.open(await file.text()));
  });
  at("add").addEventListener("click", () => {
    const column = at("more").value;
    opened.add(column);
    showLines();
    at("lines").querySelector(`[data-column="${CSS.escape(column)}"]`).focus();
  });
  at("terms").addEventListener("change", (event) => {
    const text = event.target.value;
    act({ do: "terms", most: text === "" ? null : Math.round(Number(text)) });
  });
  at("cut").addEventListener("input", (event) => {
    const totals = state.threshold.totals, k = Number(event.target.value);
    act({ do: "threshold", total: k < totals.length ? totals[k] : totals[totals.length - 1] + 1 });
  });
  at("kind").replaceChildren(...Object.keys(RULES).map((name) => made("option", {}, name)));
  const offer = () => {
    const name = state && state.features.length ? state.features[0].name : "FEATURE";
    at("rule").value = RULES[at("kind").value].replaceAll('"FEATURE"', JSON.stringify(name));
  };
  at("kind").addEventListener("change", offer);
  root.querySelector("details").addEventListener("toggle", () => at("rule").value || offer());
  at("add-rule").addEventListener("click", () => act({ do: "rule", text: at("rule").value }));
  root.addEventListener("keydown", (event) => {
    const typing = event.target.matches("textarea, input[type=number]");
    if (!(event.ctrlKey || event.metaKey) || event.altKey || typing) return;
    const again = event.key === "y" || (event.key === "Z" && event.shiftKey);
    if (event.key !== "z" && !again) return;
    event.preventDefault();
    act(again ? ACTS.redo : ACTS.undo);
  });

  const told = (event) => {
    if (event.kind === "changed") refresh();
    else if (event.kind === "trace") showTrace(event);
    else if (event.kind === "file") link.save(event.name);
    else if (event.kind === "lost") complain(event.said);
    else if (event.kind === "found") complain("");
  };
  return link.listen(told);
}

// ---------------------------------------------------------------- over HTTP

export function overHttp(token) {
  const asked = new Set(); // exports that this page asked for are its own to save
  async function call(path, content) {
    const head = { "X-Token": token, "Content-Type": "application/json" };
    const given = content === undefined ? { headers: head }
      : { method: "POST", headers: head,
        body: typeof content === "string" ? content : JSON.stringify(content) };
    let answer;
    try {
      answer = await fetch(path, given);
    } catch (error) {
      throw new Error("The studio does not answer: is it still running in its terminal?");
    }
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    return found;
  }
  return {
    state: () => call("state"),
    act: (request) => call("act", request),
    session: () => call("session"),
    open: (text) => call("open", text),
    ask: async (what) => {
      await call("ask", { what });
      if (what === "export") asked.add(what);
    },
    stop: () => call("stop", {}),
    save: (name) => {
      if (!asked.delete("export")) return;
      made("a", { href: `files/${name}?token=${token}`, download: name }).click();
    },
    listen: (tell) => {
      const source = new EventSource(`events?token=${token}`);
      let lost = false;
      source.onmessage = (event) => tell(JSON.parse(event.data));
      source.onerror = () => {
        lost = true;
        tell({ kind: "lost", said: "The studio does not answer: is it still running?" });
      };
      source.onopen = () => lost && tell({ kind: "found" });
      return () => source.close();
    },
  };
}

const token = document.querySelector('meta[name="milpscore-token"]');
if (token) mount(document.getElementById("studio"), overHttp(token.content));

// ---------------------------------------------------------------- in a notebook, through anywidget

export function overModel(model) {
  const waiting = new Map(), tells = new Set();
  let last = 0, asked = false;
  model.on("msg:custom", (message, buffers) => {
    if (message.event) for (const tell of tells) tell(message.event);
    const held = waiting.get(message.id);
    if (!held) return;
    waiting.delete(message.id);
    if (message.error) held.refuse(new Error(message.error));
    else held.answer(buffers && buffers.length ? buffers[0] : message.content);
  });
  const call = (what, content) => new Promise((answer, refuse) => {
    last += 1;
    waiting.set(last, { answer, refuse });
    model.send({ id: last, what,
      content: content === undefined || what === "open" ? content || "" : JSON.stringify(content) });
  });
  return {
    state: () => call("state"),
    act: (request) => call("act", request),
    session: () => call("session"),
    open: (text) => call("open", text),
    ask: async (what) => {
      await call("ask", what);
      if (what === "export") asked = true;
    },
    stop: () => call("stop"),
    save: async (name) => {
      if (!asked) return;
      asked = false;
      const href = URL.createObjectURL(new Blob([await call("file", name)]));
      made("a", { href, download: name }).click();
    },
    listen: (tell) => {
      tells.add(tell);
      tell({ kind: "changed" });
      return () => tells.delete(tell);
    },
  };
}

export default {
  render({ model, el }) {
    const root = made("div", { class: "studio" });
    root.innerHTML = model.get("markup");
    el.append(root);
    return mount(root, overModel(model));
  },
};
