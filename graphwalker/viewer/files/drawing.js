// The walked subgraph as SVG, shown turn by turn. Boxes are buttons: a node tells its triples, a
// relation its whole id, a count its ends.

const LEAST = 0.92; // zoom at which the smallest text has 11 pixels
const MARKS = { t: "topic", g: "answer", a: "given", "?": "unknown", c: "bare" };

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

class Drawing {
  constructor(pick) {
    this.pick = pick;
    this.lines = svg("g");
    this.boxes = svg("g");
    this.picture = svg("svg", { role: "group" }, this.lines, this.boxes);
    this.box = make("div", { class: "graph", tabindex: "0", role: "group", "aria-label": "Drawing of the walk" }, this.picture);
    this.made = new Map();
    this.walk = null;
    new ResizeObserver(() => this.render()).observe(this.box);
  }

  load(walk) {
    if (!walk || !this.walk || walk.key !== this.walk.key) this.clear();
    this.walk = walk;
  }

  clear() {
    this.walk = null;
    this.zoom = 0;
    this.open = new Set();
    this.made.clear();
    this.lines.replaceChildren();
    this.boxes.replaceChildren();
  }

  // Shows what turns 1 to `turn` have shown; `gold`: the rest of the gold path; `whole`: the answer.
  show(turn, gold, whole) {
    Object.assign(this, { turn, gold, whole });
    this.render(true);
  }

  render(follow = false) {
    if (!this.walk || !this.box.clientWidth) return;
    const shown = this.visible();
    const made = arrange(this.walk, shown, this.open, this.box.clientWidth);
    const evidence = this.whole ? findEvidence(this.walk) : new Set();
    this.lines.replaceChildren(...made.wires.flatMap((wire) => this.makeWire(wire, evidence)));
    const gone = new Set(this.made.keys());
    for (const item of made.items.values()) {
      gone.delete(item.key);
      this.place(item);
    }
    for (const key of gone) {
      this.made.get(key).remove();
      this.made.delete(key);
    }
    const tall = this.box.clientWidth < OUTLINE ? Infinity : this.box.clientHeight - 4; // an outline scrolls
    const fit = Math.min(1.2, (this.box.clientWidth - 4) / made.width, tall / made.height);
    this.size = made;
    this.scale = this.zoom || Math.max(LEAST, fit);
    this.picture.setAttribute("viewBox", `0 0 ${made.width} ${made.height}`);
    this.picture.setAttribute("width", made.width * this.scale);
    this.picture.setAttribute("height", made.height * this.scale);
    this.picture.setAttribute("aria-label", `${shown.nodes.size} entities at turn ${this.turn}`);
    if (follow) this.follow(made);
  }

  visible() {
    const { nodes, links, turns } = this.walk;
    const seen = new Set(nodes.flatMap(([, marks], i) =>
      marks.includes("t") || (this.gold && marks.includes("g")) || (this.whole && marks.includes("a")) ? [i] : []));
    turns.slice(0, this.turn).forEach(({ focus }) => focus >= 0 && seen.add(focus));
    const drawn = new Set();
    links.forEach(([head, , tail, at, gold], i) => {
      if (!((at > 0 && at <= this.turn) || (this.gold && gold))) return;
      drawn.add(i);
      seen.add(head).add(tail);
    });
    return { nodes: seen, links: drawn };
  }

  makeWire({ links, path, tips }, evidence) {
    const facts = links.map((link) => this.walk.links[link]);
    const seen = facts.some(([, , , at]) => at > 0 && at <= this.turn);
    const look = ["wire", facts.some(([, , , , gold]) => gold) && "gold", links.some((link) => evidence.has(link)) && "evidence",
      !seen && "missing", seen && facts.some(([, , , at]) => at === this.turn) && "now"].filter(Boolean).join(" ");
    const tip = ({ x, y, turn }) => svg("path", { class: `${look} tip`, d: "M0 0l-9 -4.5v9z", transform: `translate(${x} ${y}) rotate(${turn})` });
    return [svg("path", { class: look, d: path }), ...tips.map(tip)];
  }

  place(item) {
    let group = this.made.get(item.key);
    if (!group) {
      group = svg("g", { tabindex: "0", role: "button" });
      group.addEventListener("click", () => this.press(item.key));
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        this.press(item.key);
      });
      this.made.set(item.key, group);
      this.boxes.append(group);
    }
    group.setAttribute("class", this.look(item));
    group.style.transform = `translate(${item.x}px, ${item.y}px)`;
    const words = item.lines.map(({ text }) => text).join(" ");
    if (group.words === words) return;
    group.words = words;
    group.setAttribute("aria-label", item.kind === "node" ? words : `relation ${item.title}`);
    const rect = { width: item.width, height: item.height, rx: item.kind === "node" ? 5 : item.height / 2 > 14 ? 12 : item.height / 2 };
    const line = item.kind === "node" ? SIZE.name : SIZE.small;
    const texts = item.lines.map(({ text, small }, i) => svg("text", {
      x: item.width / 2, y: item.height / 2 + (i - (item.lines.length - 1) / 2) * line * LINE, "font-size": small ? SIZE.small : SIZE.name,
      "font-weight": item.kind === "node" && !small ? 600 : 400, "font-family": FONT,
    }, text));
    const inner = svg("rect", { class: "inner", x: 3.5, y: 3.5, width: item.width - 7, height: item.height - 7, rx: 3 });
    group.replaceChildren(svg("title", {}, item.title), svg("rect", rect), ...(item.kind === "node" ? [inner] : []), ...texts);
  }

  look(item) {
    if (item.kind !== "node") {
      const facts = (item.links || []).map((link) => this.walk.links[link]);
      return [item.kind, facts.some(([, , , , gold]) => gold) && "gold", facts.some(([, , , at]) => at === this.turn && at) && "now",
        facts.length && facts.every(([, , , at]) => !at || at > this.turn) && "missing"].filter(Boolean).join(" ");
    }
    const marks = [...this.walk.nodes[item.node][1]].filter((mark) => mark !== "a" || this.whole).map((mark) => MARKS[mark]);
    const now = this.turn > 0 && this.walk.turns[this.turn - 1]?.focus === item.node;
    return ["node", ...marks, now && "now"].filter(Boolean).join(" ");
  }

  press(key) {
    if (key.startsWith("g")) return;
    const node = key.startsWith("n") ? Number(key.slice(1)) : -1;
    if (node < 0 || this.walk.nodes[node][1].includes("c")) {
      if (!this.open.delete(key)) this.open.add(key);
      this.render();
    }
    if (node >= 0) this.pick(node);
  }

  // Brings what the turn has shown into sight, at the end the answer.
  follow({ items, width, height }) {
    const marked = (look) => [...items.values()].filter((item) => this.made.get(item.key).classList.contains(look));
    const given = this.whole ? marked("given") : [];
    const now = given.length ? given : marked("now");
    const scroll = (from, to, view, whole) => (whole * this.scale <= view ? 0 : (this.scale * (from + to) - view) / 2);
    if (!now.length) return;
    this.box.scrollTo({
      left: scroll(Math.min(...now.map((item) => item.x)), Math.max(...now.map((item) => item.x + item.width)), this.box.clientWidth, width),
      top: scroll(Math.min(...now.map((item) => item.y)), Math.max(...now.map((item) => item.y + item.height)), this.box.clientHeight, height),
      behavior: "smooth",
    });
  }

  // The drawing as a file of its own, in the light colours.
  save() {
    const copy = this.picture.cloneNode(true);
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText);
    copy.setAttribute("class", "graph");
    copy.prepend(svg("style", {}, rules.filter((text) => /^(:root|\.graph|\.wire)/.test(text)).join("\n")));
    const href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    make("a", { href, download: "walk.svg" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }

  zoomBy(factor) {
    this.zoom = factor && Math.min(3, Math.max(0.4, this.scale * factor));
    this.render();
  }
}

// The links of a shortest way from each topic entity, past no other one, to each answer given.
function findEvidence(walk) {
  const marked = (mark) => walk.nodes.flatMap(([, marks], i) => (marks.includes(mark) ? [i] : []));
  const topics = marked("t");
  const found = new Set();
  for (const topic of topics) {
    const came = new Map([[topic, null]]);
    for (const [node] of came) {
      walk.links.forEach(([head, , tail, at], link) => {
        const next = head === node ? tail : tail === node ? head : -1;
        if (next >= 0 && at && !came.has(next) && !topics.includes(next)) came.set(next, { link, node });
      });
    }
    for (const answer of marked("a")) for (let at = came.get(answer); at; at = came.get(at.node)) found.add(at.link);
  }
  return found;
}
