// The walked subgraph, drawn by cytoscape and shown turn by turn.

const LARGEST = 1.15; // zoom of a small drawing
const SMALLEST = 0.55; // below this zoom labels are unreadable: then only the current turn is shown
const MARKS = { t: "topic", g: "answer", a: "given", "?": "unknown", "+": "several" };

class Drawing {
  constructor() {
    this.box = $("graph");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.cy?.style(looks()));
    new ResizeObserver(() => {
      if (!this.cy) return;
      this.cy.resize();
      this.frame();
    }).observe(this.box);
  }

  load(walk) {
    this.clear();
    this.walk = walk;
    const { nodes, links } = arrange(walk, this.box.clientWidth, this.box.clientHeight);
    const drawn = walk.nodes.map(([name, marks], i) => {
      const { label, width, height, position } = nodes[i];
      return { data: { id: `n${i}`, label, width, height, title: name }, position, classes: [...marks].map((mark) => MARKS[mark]).join(" ") };
    });
    const lines = walk.links.map(([head, relation, tail, turn, gold], i) => {
      const { label, shift } = links[i];
      const title = `${walk.nodes[head][0]} — ${relation} → ${walk.nodes[tail][0]}`;
      return {
        data: { id: `l${i}`, source: `n${head}`, target: `n${tail}`, label, x: shift.x, y: shift.y, title },
        classes: `${gold ? "gold" : ""} ${turn ? "" : "missing"}`,
      };
    });
    this.cy = cytoscape({
      container: this.box, elements: [...drawn, ...lines], layout: { name: "preset" }, style: looks(),
      minZoom: 0.1, maxZoom: 3, boxSelectionEnabled: false,
    });
    this.cy.on("mouseover", "node, edge", (event) => (this.box.title = event.target.data("title")));
    this.cy.on("mouseout", "node, edge", () => (this.box.title = ""));
  }

  clear() {
    this.cy?.destroy();
    this.cy = null;
  }

  // Shows what turns 1 to `turn` have shown; `gold`: the rest of the gold path; `whole`: the answer.
  show(turn, gold, whole) {
    if (!this.cy) return;
    const { nodes, links, turns } = this.walk;
    const visible = new Set(nodes.flatMap(([, marks], i) =>
      marks.includes("t") || (gold && marks.includes("g")) || (whole && marks.includes("a")) ? [i] : []));
    turns.slice(0, turn).forEach(({ focus }) => focus >= 0 && visible.add(focus));
    const set = (id, drawn) => this.cy.getElementById(id).style("display", drawn ? "element" : "none");
    this.cy.batch(() => {
      links.forEach(([head, , tail, at, isGold], i) => {
        const seen = at > 0 && at <= turn;
        const drawn = seen || (gold && isGold === 1);
        if (drawn) visible.add(head).add(tail);
        set(`l${i}`, drawn).toggleClass("now", seen && at === turn).toggleClass("later", drawn && !seen);
      });
      nodes.forEach((_, i) => set(`n${i}`, visible.has(i)).toggleClass("now", turn > 0 && turns[turn - 1].focus === i));
    });
    this.box.setAttribute("aria-label", `Drawing: ${visible.size} entities at turn ${turn}`);
    this.frame();
  }

  frame() {
    if (!this.cy) return;
    this.cy.fit(undefined, 18);
    if (this.cy.zoom() > LARGEST) this.zoomTo(LARGEST);
    if (this.cy.zoom() >= SMALLEST) return;
    const now = this.cy.elements(".now:visible");
    this.cy.zoom(SMALLEST);
    this.cy.center(now.nonempty() ? now.union(now.edges().connectedNodes()) : this.cy.nodes(".topic"));
  }

  zoomTo(level) {
    const middle = { x: this.box.clientWidth / 2, y: this.box.clientHeight / 2 };
    this.cy?.zoom({ level, renderedPosition: middle });
  }

  zoomBy(factor) {
    if (this.cy) this.zoomTo(this.cy.zoom() * factor);
  }
}

function looks() {
  const page = getComputedStyle(document.documentElement);
  const colour = (name) => page.getPropertyValue(`--${name}`).trim();
  const [paper, panel, ink, soft, good, walked] = ["paper", "panel", "ink", "soft", "good", "series-1"].map(colour);
  const text = { label: "data(label)", "text-wrap": "wrap", "font-family": FONT, color: ink, "line-height": LINE };
  return [
    { selector: "node", style: {
      ...text, "font-size": SIZE, "text-valign": "center", "text-halign": "center", shape: "round-rectangle",
      width: "data(width)", height: "data(height)", "background-color": panel, "border-width": 1.5, "border-color": soft } },
    { selector: "node.topic", style: { shape: "cut-rectangle", "border-width": 2.5, "border-color": ink } },
    { selector: "node.answer", style: { "border-width": 5, "border-style": "double", "border-color": good } },
    { selector: "node.given", style: { "font-weight": "bold" } },
    { selector: "node.unknown", style: { "border-style": "dashed", color: soft } },
    { selector: "node.several", style: { "border-style": "dotted", color: soft } },
    { selector: "node.now", style: { "background-color": walked, "background-opacity": 0.25, "border-color": walked } },
    { selector: "edge", style: {
      ...text, "font-size": 11, "text-background-color": paper, "text-background-opacity": 0.92, "text-background-padding": "2px",
      "text-margin-x": "data(x)", "text-margin-y": "data(y)", "curve-style": "bezier", "control-point-step-size": 70,
      width: 1.5, "line-color": soft, "target-arrow-shape": "triangle", "target-arrow-color": soft, "arrow-scale": 1.1 } },
    { selector: "edge.gold", style: { width: 4.5, "line-color": good, "target-arrow-color": good } },
    { selector: "edge.missing, edge.later", style: { width: 2, "line-style": "dashed", "line-dash-pattern": [7, 5] } },
    { selector: "edge.now", style: { "line-color": walked, "target-arrow-color": walked, "font-weight": "bold" } },
  ];
}
