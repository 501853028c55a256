// The viewer: one question, its turns beside the drawing, for each run.

class Viewer {
  constructor({ rows, names }) {
    Object.assign(this, { rows, names, run: names.length - 1, turn: 0, walk: null, request: 0 });
    this.dialog = $("viewer");
    this.wide = matchMedia("(min-width: 861px)");
    this.drawing = new Drawing();
    const press = (id, act) => $(id).addEventListener("click", act);
    press("close", () => this.dialog.close());
    press("before", () => this.table.beside(this.row, -1));
    press("after", () => this.table.beside(this.row, 1));
    press("first", () => this.go(0));
    press("back", () => this.go(this.turn - 1));
    press("on", () => this.go(this.turn + 1));
    press("last", () => this.go(Infinity));
    press("fit", () => this.drawing.frame());
    press("closer", () => this.drawing.zoomBy(1.25));
    press("farther", () => this.drawing.zoomBy(0.8));
    $("gold").addEventListener("input", () => this.go(this.turn));
    this.dialog.addEventListener("keydown", (event) => this.press(event));
    this.dialog.addEventListener("close", () => this.closed());
    $("turns").addEventListener("click", (event) => {
      const item = event.target.closest("li");
      if (item && !String(getSelection())) this.go(Number(item.dataset.turn));
    });
  }

  async open(row, run = this.run) {
    const request = ++this.request; // of two walks opened in haste, the later one is shown
    this.row = row;
    this.run = row.runs[run] ? run : row.runs.findLastIndex(Boolean);
    const facts = row.runs[this.run];
    const walk = await readWalk(this.run, facts);
    if (request !== this.request) return;
    this.walk = walk;
    if (!this.dialog.open) this.dialog.showModal();
    history.replaceState(null, "", `#q=${encodeURIComponent(row.id)}&run=${this.run}`);
    this.drawHead(facts);
    $("turns").replaceChildren(...walk.turns.map(makeTurn));
    $("path").textContent = walk.path.length ? `Gold path: ${walk.path.join("; ")}.` : "This question has no gold path on record: gold answers are marked, the way to them is not.";
    if (walk.note) $("path").textContent += ` ${walk.note}`;
    this.drawing.load(walk);
    this.go(Infinity);
    $("turns").scrollTop = this.dialog.scrollTop = 0;
  }

  closed() {
    this.drawing.clear();
    history.replaceState(null, "", "#explorer");
    $("table").focus();
  }

  drawHead(facts) {
    const { row, walk } = this;
    $("question").textContent = row.text;
    $("place").textContent = [`${row.place + 1} of ${this.rows.length}`, row.id, row.structure, row.split].filter(Boolean).join(" · ");
    const buttons = this.names.map((name, i) => {
      const button = make("button", { type: "button", "aria-pressed": i === this.run ? "true" : "false", disabled: row.runs[i] ? null : "" }, `${name} `, verdict(row.runs[i]?.outcome));
      button.addEventListener("click", () => this.open(row, i));
      return button;
    });
    $("runs").replaceChildren(...buttons);
    const scores = Object.entries(walk.scores).map(([key, value]) => `${LABELS[key]} ${value.toFixed(2)}`);
    const samples = facts.samples ? [`sampled: ${facts.samples[0]} of ${facts.samples[1]} right`] : [];
    const given = walk.answer?.length ? names(walk.answer) : [make("em", {}, walk.answer ? "an empty list" : `none (${walk.stop})`)];
    $("facts").replaceChildren(
      labelled("Topic", ...names(row.topics)),
      labelled("Answer given", ...given),
      labelled("Gold answer", ...names(row.gold)),
      make("p", { class: "note" }, [...scores, ...samples, `ended: ${walk.stop}`].join(" · ")),
    );
  }

  go(turn) {
    if (!this.walk) return;
    const { turns } = this.walk;
    this.turn = Math.max(0, Math.min(turns.length, turn));
    $("step").textContent = `turn ${this.turn} of ${turns.length}`;
    for (const id of ["first", "back"]) $(id).disabled = this.turn === 0;
    for (const id of ["on", "last"]) $(id).disabled = this.turn === turns.length;
    [...$("turns").children].forEach((item, i) => {
      item.classList.toggle("later", i >= this.turn);
      item.removeAttribute("aria-current");
      if (i + 1 !== this.turn) return;
      item.setAttribute("aria-current", "step");
      if (this.wide.matches) item.scrollIntoView({ block: "nearest" }); // else the drawing would leave the screen
    });
    this.drawing.show(this.turn, $("gold").checked, this.turn === turns.length);
    this.tell();
  }

  // The drawing in words.
  tell() {
    const { nodes, links } = this.walk;
    const now = links.filter(([, , , at]) => at === this.turn && at > 0);
    const items = now.map(([head, relation, tail, , gold]) =>
      make("li", {}, ...names([nodes[head][0]]), ` ${relation} → `, ...names([nodes[tail][0]]), gold ? " (on the gold path)" : ""));
    const summary = now.length ? `Turn ${this.turn} first showed ${now.length === 1 ? "one triple" : `${now.length} triples`}:` : this.turn ? `Turn ${this.turn} showed no new triple.` : "The start: topic entities.";
    $("seen").replaceChildren(make("p", { class: "note" }, summary), make("ul", {}, ...items));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowRight: () => this.go(this.turn + 1), ArrowLeft: () => this.go(this.turn - 1),
      Home: () => this.go(0), End: () => this.go(Infinity),
      n: () => this.table.beside(this.row, 1), p: () => this.table.beside(this.row, -1),
      r: () => this.nextRun(), g: () => $("gold").click(),
      "+": () => this.drawing.zoomBy(1.25), "=": () => this.drawing.zoomBy(1.25),
      "-": () => this.drawing.zoomBy(0.8), 0: () => this.drawing.frame(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  nextRun() {
    const runs = this.names.map((_, i) => (this.run + 1 + i) % this.names.length);
    const next = runs.find((i) => this.row.runs[i]);
    if (next !== this.run) this.open(this.row, next);
  }
}

const LABELS = { em: "EM", f1: "F1", precision: "precision", recall: "recall" };

function makeTurn(turn, i) {
  const mistake = turn.error ? make("span", { class: "mark" }, ` · mistake: ${turn.error}`) : null;
  const text = (look, words) => (words ? make("pre", { class: look }, words) : null);
  return make("li", { "data-turn": i + 1, class: turn.error || turn.completion ? "erring" : null },
    make("div", { class: "label" }, `Turn ${i + 1}`, mistake),
    text(null, turn.thought), text("action", turn.action), text("observation", turn.completion),
    text("observation", turn.observation));
}
