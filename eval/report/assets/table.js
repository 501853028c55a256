// The table of questions: filtered and sorted whole, drawn only where it is looked at.

const HEIGHT = 52; // pixels of a row, as in page.css: a question of three lines
const HEAD = 34;
const NARROW = 600; // of a page on which the first run alone is seen
const BEYOND = 3; // rows drawn above and below the visible ones

class Table {
  constructor({ rows, names, main, kinds }, open) {
    Object.assign(this, { rows, names, kinds, open, shown: rows, chosen: 0, sorted: null, down: false, run: main });
    this.box = $("table");
    this.body = this.box.querySelector(".rows");
    this.box.style.height = `${Math.min(11, rows.length + 0.2) * HEIGHT + HEAD}px`;
    this.layOut();
    this.fillFilters();
    this.listen();
    this.filter();
  }

  // On a narrow page the chosen run stands first among the runs.
  layOut() {
    this.narrow = innerWidth < NARROW;
    this.columns = this.makeColumns(this.narrow);
    this.box.style.setProperty("--columns", this.columns.map((column) => column.width).join(" "));
    this.box.style.setProperty("--least", `${(this.narrow ? 55 : 59) + 6.9 * this.names.length}rem`);
    this.box.setAttribute("aria-colcount", this.columns.length);
  }

  makeColumns(narrow) {
    const runs = this.names.map((_, i) => i);
    if (narrow) runs.sort((a, b) => (b === this.run) - (a === this.run));
    const number = (key) => (row) => row.runs[this.run]?.[key] ?? -1;
    const listed = (title, list) => ({ title, width: "minmax(8rem, .6fr)", value: (row) => list(row).join(", "), cell: (row) => list(row).join(", ") || "–", look: "text" });
    return [
      { title: "#", width: "3.2rem", value: (row) => row.place, cell: (row) => `${row.place + 1}`, look: "number" },
      { title: "Question", width: narrow ? "10.5rem" : "minmax(14rem, 1fr)", value: (row) => row.text, cell: (row) => row.text, look: "text" },
      ...runs.map((i) => ({
        title: this.names[i], width: "6.9rem",
        value: (row) => ORDER.indexOf(row.runs[i]?.outcome),
        cell: (row) => verdict(row.runs[i]?.outcome),
      })),
      listed("Answer", (row) => row.runs[this.run]?.answers ?? []),
      listed("Gold", (row) => row.gold),
      { title: "Error", width: "8rem", value: (row) => row.runs[this.run]?.kind ?? "", cell: (row) => explained(row.runs[this.run]?.kind, this.kinds), look: "text" },
      { title: "Type", width: "5.4rem", value: (row) => row.structure, cell: (row) => row.structure || "–" },
      { title: "F1", width: "3.4rem", value: number("f1"), cell: (row) => figure(row.runs[this.run]?.f1, 2), look: "number" },
      { title: "Turns", width: "4rem", value: number("turns"), cell: (row) => figure(row.runs[this.run]?.turns, 0), look: "number" },
      { title: "Tokens", width: "4.6rem", value: number("tokens"), cell: (row) => figure(row.runs[this.run]?.tokens, 0), look: "number" },
    ];
  }

  drawHead() {
    const cells = this.columns.map((column, i) => {
      const arrow = i !== this.sorted ? "" : this.down ? " ▼" : " ▲";
      const button = make("button", { type: "button", tabindex: "-1", title: `sort by ${column.title}` }, column.title + arrow);
      button.addEventListener("click", () => this.sort(i));
      const sort = i !== this.sorted ? "none" : this.down ? "descending" : "ascending";
      return make("div", { role: "columnheader", "aria-colindex": i + 1, "aria-sort": sort, class: column.look }, button);
    });
    this.box.querySelector(".head .row").replaceChildren(...cells);
  }

  fillFilters() {
    $("by-run").append(...this.names.map((name, i) => make("option", { value: i }, name)));
    $("by-run").value = this.run;
    $("by-run").closest("label").hidden = this.names.length < 2;
    for (const key of FILTERS.slice(1)) {
      const values = [...new Set(this.rows.flatMap((row) => (OF_RUN.includes(key) ? row.runs.map((run) => run?.[key]) : [row[key]])))].filter(Boolean);
      $(`by-${key}`).closest("label").hidden = values.length < 2;
      if (key === "tokens") continue; // a number to type
      const order = key === "outcome" ? (a, b) => ORDER.indexOf(a) - ORDER.indexOf(b) : (a, b) => naturally(`${a}`, `${b}`);
      $(`by-${key}`).append(...values.sort(order).map((value) => make("option", { value, title: key === "kind" && this.kinds[value] }, key === "outcome" ? VERDICTS[value][0] : `${value}`.replaceAll("_", " "))));
    }
    if (this.names.length > 1) $("by-outcome").append(make("option", { value: "differ" }, "runs differ"));
  }

  // The filters that an address names, and no others.
  take(address) {
    for (const key of FILTERS) $(`by-${key}`).value = address.get(key) ?? (key === "run" ? this.run : "");
    $("find").value = "";
    this.filter();
    $("explorer").scrollIntoView();
  }

  listen() {
    for (const id of ["find", ...FILTERS.map((key) => `by-${key}`)]) $(id).addEventListener("input", () => this.filter());
    $("reset").addEventListener("click", () => this.take(new URLSearchParams()));
    $("explorer").querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.box.focus();
    });
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.press(event));
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.at), true);
    });
    window.addEventListener("resize", () => {
      if (this.narrow !== innerWidth < NARROW) this.filter();
      this.draw();
    });
  }

  filter() {
    const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const before = this.run;
    this.run = Number($("by-run").value) || 0;
    if (this.narrow !== innerWidth < NARROW || (this.narrow && this.run !== before)) {
      this.sorted = null;
      this.layOut();
    }
    const chosen = FILTERS.slice(1).map((key) => [key, $(`by-${key}`).value]).filter(([, value]) => value);
    this.shown = this.rows.filter((row) => chosen.every(([key, value]) => fits(row, this.run, key, value)) && words.every((word) => row.words.includes(word)));
    this.drawHead();
    $("reset").hidden = !chosen.length && !words.length;
    this.order();
    this.chosen = 0;
    this.box.scrollTop = 0;
    $("count").textContent = `${this.shown.length.toLocaleString("en")} of ${this.rows.length.toLocaleString("en")} questions`;
    this.draw();
  }

  sort(i) {
    this.down = i === this.sorted ? !this.down : false;
    this.sorted = i;
    this.drawHead();
    this.order();
    this.choose(0);
  }

  order() {
    if (this.sorted === null) return;
    const { value } = this.columns[this.sorted];
    const sign = this.down ? -1 : 1;
    const compare = (a, b) => (typeof a === "string" ? naturally(a, b) : a - b);
    const keyed = this.shown.map((row) => [value(row), row]);
    keyed.sort(([a, first], [b, second]) => sign * compare(a, b) || first.place - second.place);
    this.shown = keyed.map(([, row]) => row);
  }

  draw() {
    const count = this.shown.length;
    this.body.style.height = `${count * HEIGHT}px`;
    this.box.setAttribute("aria-rowcount", count + 1);
    const start = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - BEYOND);
    const end = Math.min(count, start + Math.ceil(this.box.clientHeight / HEIGHT) + 2 * BEYOND);
    const drawn = [];
    for (let at = start; at < end; at++) drawn.push(this.makeRow(at));
    this.body.replaceChildren(...drawn);
    if (this.chosen < end && this.chosen >= start && count) this.box.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  makeRow(at) {
    const row = this.shown[at];
    const cells = this.columns.map((column, i) =>
      make("div", { role: "gridcell", "aria-colindex": i + 1, class: column.look }, column.cell(row)));
    const line = make("div", {
      class: "row", role: "row", id: `row-${at}`, "data-at": at, "aria-rowindex": at + 2,
      "aria-selected": at === this.chosen ? "true" : "false", title: row.text,
    }, ...cells);
    line.style.top = `${at * HEIGHT}px`;
    return line;
  }

  choose(at, opened = false) {
    if (!this.shown.length) return;
    this.chosen = Math.max(0, Math.min(this.shown.length - 1, at));
    const visible = this.box.clientHeight - HEAD;
    const top = this.chosen * HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + HEIGHT > this.box.scrollTop + visible) this.box.scrollTop = top + HEIGHT - visible;
    this.draw();
    if (opened) this.open(this.shown[this.chosen], this.run);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / HEIGHT) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) this.choose(this.chosen + moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.choose(this.chosen, true);
    else return;
    event.preventDefault();
  }

  beside(row, step) {
    const at = this.shown.indexOf(row) + step;
    if (at < 0 || at >= this.shown.length) return;
    this.choose(at);
    this.open(this.shown[at]);
  }
}

const FILTERS = ["run", "outcome", "kind", "stop", "structure", "hops", "split", "tokens"];
const OF_RUN = ["outcome", "kind", "stop", "tokens"];
const ORDER = ["right", "recovered", "wrong", "failed"];
const { compare: naturally } = new Intl.Collator("en", { numeric: true });
const figure = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));

const explained = (kind, kinds) => (kind ? make("span", { title: kinds[kind] }, kind) : "–");

function fits(row, run, key, value) {
  if (value === "differ") return new Set(row.runs.map((one) => one && one.em)).size > 1;
  if (key === "tokens") return row.runs[run]?.tokens >= Number(value);
  return `${(OF_RUN.includes(key) ? row.runs[run] : row)?.[key] ?? ""}` === value;
}
