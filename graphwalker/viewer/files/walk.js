// One walk: its turns beside the drawing. The report, a comparison and the served page show this.

class WalkView {
  constructor() {
    this.drawing = new Drawing((node) => this.tell(node));
    const button = (text, title, act) => {
      const made = make("button", { type: "button", title, "aria-label": title }, text);
      made.addEventListener("click", act);
      return made;
    };
    this.back = [button("«", "start (Home)", () => this.go(0)), button("‹", "one turn back (←)", () => this.go(this.turn - 1))];
    this.on = [button("›", "one turn on (→)", () => this.go(this.turn + 1)), button("»", "end (End)", () => this.go(Infinity))];
    this.step = make("output", { class: "step" });
    this.gold = make("input", { type: "checkbox", checked: "" });
    this.gold.addEventListener("input", () => this.go(this.turn));
    this.goldLabel = make("label", {}, this.gold, " gold path");
    const zoom = [["+", "larger (+)", 1.25], ["−", "smaller (-)", 0.8], ["fit", "show all (0)", 0]];
    const zooms = zoom.map(([text, title, factor]) => button(text, title, () => this.drawing.zoomBy(factor)));
    const bar = make("div", { class: "bar" },
      make("span", { class: "buttons" }, ...this.back, this.step, ...this.on),
      make("span", { class: "buttons" }, this.goldLabel, ...zooms, button("save", "save the drawing (SVG)", () => this.drawing.save())));
    this.list = make("ol", { class: "turns", "aria-label": "Turns", tabindex: "0" });
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("li[data-turn]");
      if (item && !event.target.closest("summary, details") && !String(getSelection())) this.go(Number(item.dataset.turn));
    });
    this.note = make("p", { class: "note" });
    this.seen = make("div", { class: "seen", "aria-live": "polite", tabindex: "0", role: "group", "aria-label": "Triples" });
    this.head = make("div", { class: "head" });
    const drawn = make("div", { class: "drawing" }, bar, this.drawing.box, this.note, this.seen);
    this.root = make("article", { class: "walkview" }, this.head, make("div", { class: "both" }, this.list, drawn));
    this.clear();
  }

  clear() {
    this.walk = null;
    this.turn = 0;
    this.drawing.clear();
    this.list.replaceChildren();
    this.seen.replaceChildren();
    this.note.textContent = this.step.textContent = "";
  }

  // Shows a walk from its end, or goes on with the one of the same `key`. `messages`: gives the raw
  // messages, a promise; `running`: it goes on.
  load(walk, { messages = null, running = false } = {}) {
    const goes = this.walk && walk.key !== undefined && walk.key === this.walk.key;
    const follows = !goes || this.turn === this.walk.turns.length;
    if (!goes) this.list.replaceChildren();
    Object.assign(this, { walk, messages, running });
    this.goldLabel.hidden = !walk.links.some(([, , , , gold]) => gold) && !walk.nodes.some(([, marks]) => marks.includes("g"));
    const items = walk.turns.map((turn, i) => this.makeTurn(turn, i));
    this.list.replaceChildren(...items.map((item, i) => keep(this.list.children[i], item)));
    const path = walk.path?.length ? `Gold path: ${walk.path.join("; ")}.` : this.goldLabel.hidden ? "" : "The question has no gold path on record: gold answers are marked, the way to them is not.";
    const legend = this.goldLabel.hidden ? "Thick: the way to the answer." : "Green: walked on the gold path. Dashed: gold, never shown to the agent.";
    this.note.textContent = [legend, "A relation's number is the turn that showed it. Click an entity for its triples, a relation for its whole id.", path, walk.note].filter(Boolean).join(" ");
    this.drawing.load(walk);
    this.go(follows ? Infinity : this.turn);
  }

  go(turn) {
    if (!this.walk) return;
    const { turns } = this.walk;
    this.turn = Math.max(0, Math.min(turns.length, turn));
    this.step.textContent = `turn ${this.turn} of ${turns.length}`;
    for (const made of this.back) made.disabled = this.turn === 0;
    for (const made of this.on) made.disabled = this.turn === turns.length;
    [...this.list.children].forEach((item, i) => {
      item.classList.toggle("later", i >= this.turn);
      for (const listing of item.querySelectorAll(".relations:not([data-held])")) listing.open = i + 1 === this.turn;
      item.removeAttribute("aria-current");
      if (i + 1 !== this.turn) return;
      item.setAttribute("aria-current", "step");
      if (this.list.scrollHeight > this.list.clientHeight) this.list.scrollTo({ top: item.offsetTop - this.list.offsetTop - 40, behavior: "smooth" });
    });
    this.drawing.show(this.turn, this.gold.checked && !this.goldLabel.hidden, this.turn === turns.length && !this.running);
    this.tell();
  }

  // The drawing in words: what the turn showed, or the triples of an entity.
  tell(node = -1) {
    const { nodes, links } = this.walk;
    const now = links.filter(([head, , tail, at]) => (node < 0 ? at === this.turn : at <= this.turn && (head === node || tail === node)) && at > 0);
    const items = now.slice(0, 100).map(([head, relation, tail, at, gold]) => make("li", {},
      ...names([nodes[head][0]]), ` ${relation} → `, ...names([nodes[tail][0]]), node < 0 ? "" : ` turn ${at}`, gold ? " (on the gold path)" : ""));
    const many = now.length === 1 ? "one triple" : `${now.length} triples`;
    const start = this.turn ? `Turn ${this.turn} showed no new triple.` : "The start: topic entities.";
    const summary = node >= 0 ? [...names([nodes[node][0]]), ` stands in ${many} so far:`] : [now.length ? `Turn ${this.turn} first showed ${many}:` : start];
    this.seen.replaceChildren(make("p", { class: "note" }, ...summary), make("ul", {}, ...items));
  }

  makeTurn(turn, i) {
    const text = (look, words) => (words ? make("pre", { class: look, tabindex: look === "observation" ? "0" : null }, words) : null);
    const costs = [turn.seconds !== undefined && `${turn.seconds.toFixed(1)} s`, turn.tokens && `${turn.tokens} tokens`, turn.cost && `money ${turn.cost.toFixed(5)}`].filter(Boolean).join(" · ");
    const mistake = turn.error ? make("span", { class: "mark" }, ` · mistake: ${turn.error}`) : null;
    const seen = turn.listed ? turn.listed.map((one) => this.makeListing(one, i)) : [text("observation", turn.observation)];
    return make("li", { "data-turn": i + 1, class: turn.error || turn.completion ? "erring" : null },
      make("div", { class: "label" }, make("span", {}, `Turn ${i + 1}`), mistake, costs ? make("span", { class: "costs" }, costs) : null),
      turn.thought ? make("p", { class: "thought" }, turn.thought) : null, text("action", turn.action), text("observation", turn.completion), ...seen,
      this.messages ? this.makeMessages(i) : null);
  }

  // The relations that a turn listed, open in the turn that is looked at and folded in others, unless
  // somebody has set it; those that a later call takes are marked.
  makeListing([entity, hops], i) {
    const relations = [...new Set(hops.map((hop) => hop.replace(/^~/, "")))];
    const later = this.walk.turns.slice(i + 1).map((turn) => turn.action);
    const chosen = relations.filter((relation) => later.some((action) => action.includes(JSON.stringify(relation))));
    const count = relations.length === 1 ? "one relation" : `${relations.length} relations`;
    const items = relations.map((relation) => make("li", { class: chosen.includes(relation) ? "chosen" : null }, chosen.includes(relation) ? `✓ ${relation}` : relation));
    const taken = chosen.length ? [" — taken: ", ...chosen.flatMap((relation, k) => [k ? ", " : "", make("b", {}, short(relation))])] : [];
    const summary = make("summary", {}, `${count} of `, ...names([entity]), ...taken);
    const made = make("details", { class: "relations" }, summary, make("ul", { tabindex: "0" }, ...items));
    summary.addEventListener("click", () => made.setAttribute("data-held", ""));
    return made;
  }

  makeMessages(i) {
    const inside = make("div");
    const made = make("details", { class: "messages" }, make("summary", {}, "messages"), inside);
    made.addEventListener("toggle", async () => {
      const turn = made.open && !inside.firstChild && (await this.messages())?.[i];
      if (!made.open || inside.firstChild) return;
      const parts = turn ? [...turn.context, ["assistant", turn.completion], ...(turn.ids ? [[`${turn.ids.length} token ids`, turn.ids.join(" ")]] : [])] : [["", "This page does not hold them: see predictions.jsonl of the run."]];
      inside.replaceChildren(...parts.flatMap(([role, words]) => [make("div", { class: "label" }, role), make("pre", { class: "observation", tabindex: "0" }, words)]));
    });
    return made;
  }

  press(key) {
    const act = {
      ArrowRight: () => this.go(this.turn + 1), ArrowLeft: () => this.go(this.turn - 1), Home: () => this.go(0), End: () => this.go(Infinity),
      g: () => this.gold.click(), "+": () => this.drawing.zoomBy(1.25), "=": () => this.drawing.zoomBy(1.25), "-": () => this.drawing.zoomBy(0.8), 0: () => this.drawing.zoomBy(0),
    }[key];
    act?.();
    return Boolean(act);
  }
}

// The old item where nothing has changed: what is open in it stays open.
function keep(old, made) {
  return old && old.textContent === made.textContent ? old : made;
}

// Marks the first turn in which walks part.
function markDifference(views) {
  const [first, ...others] = views.map((view) => view.walk.turns.map((turn) => turn.action));
  const at = first.findIndex((action, i) => others.some((actions) => actions[i] !== action));
  const parts = at >= 0 ? at : others.some((actions) => actions.length > first.length) ? first.length : -1;
  for (const view of views) {
    const item = parts >= 0 && view.list.children[parts];
    if (!item) continue;
    item.classList.add("parts");
    item.prepend(make("p", { class: "mark" }, "≠ the walks part here"));
  }
  return parts;
}

function costsOf(usage = {}) {
  const number = (value) => Math.round(value).toLocaleString("en");
  return [
    usage.prompt_tokens && `${number(usage.prompt_tokens)} prompt tokens`,
    usage.completion_tokens && `${number(usage.completion_tokens)} completion tokens`,
    usage.seconds && `${usage.seconds.toFixed(1)} s`, usage.cost && `money ${usage.cost.toFixed(4)}`,
  ].filter(Boolean);
}
