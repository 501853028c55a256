// The table of questions: filtered and sorted whole, drawn only where it is looked at.

const HEIGHT = 34; // pixels of a row, as in viewer.css
const BEYOND = 8; // rows drawn above and below the visible ones

class Table {
  constructor({ rows, names }, open) {
    Object.assign(this, { rows, names, open, shown: rows, chosen: 0, sorted: null, down: false });
    this.box = $("table");
    this.body = this.box.querySelector(".rows");
    this.columns = this.makeColumns();
    const widths = this.columns.map((column) => column.width).join(" ");
    this.box.style.setProperty("--columns", widths);
    this.box.setAttribute("aria-colcount", this.columns.length);
    this.box.style.height = `${Math.min(16, rows.length + 1.2) * HEIGHT}px`;
    this.drawHead();
    this.fillFilters();
    this.listen();
    this.filter();
  }

  makeColumns() {
    const last = this.names.length - 1;
    const number = (key) => (row) => row.runs[last]?.[key] ?? -1;
    return [
      { title: "#", width: "3.6rem", value: (row) => row.place, cell: (row) => `${row.place + 1}`, look: "number" },
      { title: "Question", width: "minmax(14rem, 1fr)", value: (row) => row.text, cell: (row) => row.text, look: "text" },
      { title: "Structure", width: "6.3rem", value: (row) => row.structure, cell: (row) => row.structure },
      ...this.names.map((name, i) => ({
        title: name, width: "6.9rem",
        value: (row) => ORDER.indexOf(row.runs[i]?.outcome),
        cell: (row) => verdict(row.runs[i]?.outcome),
      })),
      { title: "F1", width: "3.4rem", value: number("f1"), cell: (row) => figure(row.runs[last]?.f1, 2), look: "number" },
      { title: "Turns", width: "4rem", value: number("turns"), cell: (row) => figure(row.runs[last]?.turns, 0), look: "number" },
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
    this.box.querySelector(".head").replaceChildren(...cells);
  }

  fillFilters() {
    for (const key of ["structure", "split"]) {
      const values = [...new Set(this.rows.map((row) => row[key]))].filter(Boolean).sort(naturally);
      $(`by-${key}`).append(...values.map((value) => make("option", { value }, value)));
      $(`by-${key}`).closest("label").hidden = values.length < 2;
    }
    this.names.forEach((name, i) => {
      const found = ORDER.filter((outcome) => this.rows.some((row) => row.runs[i]?.outcome === outcome));
      const options = found.map((outcome) => make("option", { value: `${i} ${outcome}` }, `${VERDICTS[outcome][0]} (${name})`));
      $("by-outcome").append(make("optgroup", { label: name }, ...options));
    });
    if (this.names.length > 1) $("by-outcome").append(make("option", { value: "differ" }, "runs differ"));
  }

  listen() {
    for (const id of ["find", "by-structure", "by-split", "by-outcome"]) {
      $(id).addEventListener("input", () => this.filter());
    }
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
    window.addEventListener("resize", () => this.draw());
  }

  filter() {
    const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [structure, split, outcome] = ["structure", "split", "outcome"].map((key) => $(`by-${key}`).value);
    this.shown = this.rows.filter((row) =>
      (!structure || row.structure === structure) && (!split || row.split === split) &&
      (!outcome || fits(row, outcome)) && words.every((word) => row.words.includes(word)));
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
    line.style.transform = `translateY(${at * HEIGHT}px)`;
    return line;
  }

  choose(at, opened = false) {
    if (!this.shown.length) return;
    this.chosen = Math.max(0, Math.min(this.shown.length - 1, at));
    const visible = this.box.clientHeight - HEIGHT;
    const top = this.chosen * HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + HEIGHT > this.box.scrollTop + visible) this.box.scrollTop = top + HEIGHT - visible;
    this.draw();
    if (opened) this.open(this.shown[this.chosen]);
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
    if (at >= 0 && at < this.shown.length) this.choose(at, true);
  }
}

const ORDER = ["right", "recovered", "wrong", "failed"];
const { compare: naturally } = new Intl.Collator("en", { numeric: true });
const figure = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));

function fits(row, outcome) {
  if (outcome === "differ") return new Set(row.runs.map((run) => run && run.em)).size > 1;
  const [run, wanted] = outcome.split(" ");
  return row.runs[run]?.outcome === wanted;
}
