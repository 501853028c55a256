// The dialog of the report and of a comparison: one question, and the walk of one run or of two.

class Viewer {
  constructor({ rows, names, main, kinds }, beside) {
    Object.assign(this, { rows, names, kinds, run: main, views: [], request: 0 });
    this.other = beside && names.length > 1 ? 0 : -1; // the run beside, if any
    this.dialog = $("viewer");
    const press = (id, act) => $(id).addEventListener("click", act);
    press("close", () => this.dialog.close());
    press("before", () => this.table.beside(this.row, -1));
    press("after", () => this.table.beside(this.row, 1));
    press("beside", () => this.toggleBeside());
    press("link", () => navigator.clipboard?.writeText(location.href).then(() => ($("link").textContent = "copied"), () => {}));
    $("beside").hidden = names.length < 2;
    this.dialog.addEventListener("keydown", (event) => this.press(event));
    this.dialog.addEventListener("close", () => this.closed());
  }

  async open(row, run = this.run, other = null) {
    const request = ++this.request; // of two walks opened in haste, the later one is shown
    this.row = row;
    this.run = row.runs[run] ? run : row.runs.findLastIndex(Boolean);
    if (other !== null) this.other = Number(other);
    const shown = this.other >= 0 && this.other !== this.run && row.runs[this.other] ? [this.other, this.run] : [this.run];
    const walks = await Promise.all(shown.map((i) => readWalk(i, row.runs[i])));
    if (request !== this.request) return;
    if (!this.dialog.open) this.dialog.showModal();
    const address = new URLSearchParams({ q: row.id, run: this.run, ...(shown.length > 1 ? { beside: this.other } : {}) });
    history.replaceState(null, "", `#${address}`);
    $("link").textContent = "copy link";
    this.drawHead();
    this.views = shown.map(() => new WalkView());
    $("views").replaceChildren(...this.views.map((view) => view.root));
    this.views.forEach((view, i) => {
      view.head.replaceChildren(...this.describe(walks[i], shown[i], shown.length > 1));
      view.load(walks[i], { messages: () => readMessages(shown[i], row.runs[shown[i]]) });
    });
    if (this.views.length > 1) markDifference(this.views);
    this.dialog.scrollTop = 0;
  }

  closed() {
    this.views = [];
    $("views").replaceChildren();
    history.replaceState(null, "", "#explorer");
    $("table").focus();
  }

  drawHead() {
    const { row } = this;
    $("question").textContent = row.text;
    $("place").textContent = [`${row.place + 1} of ${this.rows.length}`, row.id, row.structure, row.split].filter(Boolean).join(" · ");
    const buttons = this.names.map((name, i) => {
      const pressed = i === this.run || i === this.other;
      const button = make("button", { type: "button", "aria-pressed": pressed ? "true" : "false", disabled: row.runs[i] ? null : "" }, `${name} `, verdict(row.runs[i]?.outcome));
      button.addEventListener("click", () => this.open(row, i));
      return button;
    });
    $("runs").replaceChildren(...buttons);
    $("beside").setAttribute("aria-pressed", this.other >= 0 ? "true" : "false");
    $("facts").replaceChildren(labelled("Topic", ...names(row.topics)), labelled("Gold answer", ...names(row.gold)));
  }

  describe(walk, run, named) {
    const { samples, kind } = this.row.runs[run];
    const scores = Object.entries(walk.scores).map(([key, value]) => `${LABELS[key]} ${value.toFixed(2)}`);
    const drawn = samples ? [`sampled: ${samples[0]} of ${samples[1]} right`] : [];
    const given = walk.answer?.length ? names(walk.answer) : [make("em", {}, walk.answer ? "an empty list" : `none (${walk.stop})`)];
    return [
      named ? make("h3", {}, this.names[run]) : null,
      labelled("Answer given", ...given, " ", verdict(walk.outcome)),
      make("p", { class: "note" }, [kind && `error: ${kind} (${this.kinds[kind]})`, ...scores, ...drawn, `ended: ${walk.stop}`, ...costsOf(walk.usage)].filter(Boolean).join(" · ")),
    ].filter(Boolean);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { n: () => this.table.beside(this.row, 1), p: () => this.table.beside(this.row, -1), r: () => this.nextRun(), b: () => this.toggleBeside() }[event.key];
    act?.();
    if (act || this.views.map((view) => view.press(event.key)).some(Boolean)) event.preventDefault();
  }

  toggleBeside() {
    if (this.names.length < 2) return;
    const before = this.names.map((_, i) => (this.run + this.names.length - 1 - i) % this.names.length).find((i) => i !== this.run && this.row.runs[i]);
    this.open(this.row, this.run, this.other >= 0 ? -1 : before ?? -1);
  }

  nextRun() {
    const runs = this.names.map((_, i) => (this.run + 1 + i) % this.names.length);
    const next = runs.find((i) => this.row.runs[i] && i !== this.other);
    if (next !== undefined && next !== this.run) this.open(this.row, next);
  }
}

const LABELS = { em: "EM", f1: "F1", precision: "precision", recall: "recall" };
