// Where things stand in a drawing: levels by distance from the topic entities, across or downwards.

const FONT = "system-ui, Roboto, Helvetica, Arial, sans-serif";
const SIZE = 13; // pixels of a node's label
const WIDEST = 150; // pixels of a line of a node's label
const LINE = 1.25; // heights of a line
const ACROSS = { level: 300, rank: 80, label: 26 };
const DOWN = { level: 118, rank: 190, label: 20 }; // label: characters of a line of a relation

const ruler = document.createElement("canvas").getContext("2d");

// Nodes with their lines and boxes, links with their labels, and which way the levels run.
function arrange(walk, width, height) {
  const nodes = walk.nodes.map(([name, marks]) => box(name, marks));
  const ranks = rank(walk);
  const depth = Math.max(...walk.nodes.map(([, , level]) => level));
  const breadth = 2 * Math.max(...ranks.map(Math.abs));
  const across = Math.min(width / (depth * ACROSS.level + WIDEST), height / (breadth * ACROSS.rank + 60));
  const down = Math.min(LARGEST, width / (breadth * DOWN.rank + WIDEST), height / (depth * DOWN.level + 60));
  const way = down > Math.min(across, LARGEST) ? DOWN : ACROSS; // across where both are large enough
  walk.nodes.forEach(([, , level], i) => {
    const [along, beside] = [level * way.level, ranks[i] * way.rank];
    nodes[i].position = way === DOWN ? { x: beside, y: along } : { x: along, y: beside };
  });
  const links = walk.links.map(([head, relation, tail, turn]) => ({
    label: broken(`${turn || "gold"}: ${short(relation)}`, way.label),
    shift: way === DOWN ? shift(walk, nodes, head, tail) : { x: 0, y: 0 },
  }));
  return { nodes, links };
}

// Going down, a label stands nearer to the end with fewer links: at the other one it would meet theirs.
function shift(walk, nodes, head, tail) {
  const degree = (node) => walk.links.filter(([a, , b]) => a === node || b === node).length;
  const [near, far] = degree(head) > degree(tail) ? [head, tail] : [tail, head];
  const part = (key) => 0.12 * (nodes[far].position[key] - nodes[near].position[key]);
  return { x: part("x"), y: part("y") };
}

function box(name, marks) {
  const lines = [...fill(name), ...describe(marks)];
  ruler.font = `bold ${SIZE}px ${FONT}`;
  const width = Math.max(24, ...lines.map((line) => ruler.measureText(line).width));
  return { label: lines.join("\n"), width: Math.ceil(width) + 18, height: Math.ceil(lines.length * SIZE * LINE) + 14 };
}

function describe(marks) {
  const words = [
    marks.includes("t") && "topic",
    marks.includes("g") && "★ gold",
    marks.includes("a") && (marks.includes("g") ? "✓ answered" : "✗ answered"),
    marks.includes("?") && "never shown",
  ].filter(Boolean);
  return words.length ? [words.join(" · ")] : [];
}

// A name in lines of at most WIDEST pixels, at most four of them.
function fill(name) {
  ruler.font = `bold ${SIZE}px ${FONT}`;
  const lines = [""];
  for (const piece of name.match(/\S{1,16}|\s+/g) || [""]) {
    const longer = lines.at(-1) + piece.replace(/\s+/, " ");
    if (ruler.measureText(longer).width <= WIDEST || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(piece.trimStart());
  }
  return lines.length <= 4 ? lines : [...lines.slice(0, 4), "…"];
}

// The telling end of a relation id: `people.person.nationality` is `person.nationality`.
function short(relation) {
  if (relation.includes("://")) return relation.replace(/[/#]+$/, "").split(/[/#]/).pop();
  return relation.split("..").map((part) => part.split(".").slice(-2).join(".")).join("..");
}

// A text in lines of at most `most` characters, broken after dots, underscores and spaces.
function broken(text, most) {
  const lines = [""];
  for (const piece of text.match(/[^._\s]*[._\s]*/g).filter(Boolean)) {
    if (lines.at(-1) && (lines.at(-1) + piece).length > most) lines.push(piece);
    else lines[lines.length - 1] += piece;
  }
  return lines.join("\n");
}

// The place of each node within its level, in the order of what it hangs on, centred on 0.
function rank({ nodes, links }) {
  const levels = [];
  nodes.forEach(([, , level], i) => (levels[level] ??= []).push(i));
  const beside = nodes.map(() => []);
  for (const [head, , tail] of links) {
    beside[head].push(tail);
    beside[tail].push(head);
  }
  const ranks = nodes.map(() => 0);
  const place = (level) => level.forEach((node, at) => (ranks[node] = at - (level.length - 1) / 2));
  const pull = (level, from) => {
    const weights = new Map(level.map((node) => {
      const near = beside[node].filter((other) => nodes[other][2] === from);
      return [node, near.length ? near.reduce((sum, other) => sum + ranks[other], 0) / near.length : ranks[node]];
    }));
    level.sort((a, b) => weights.get(a) - weights.get(b));
    place(level);
  };
  const used = Array.from(levels, (level) => level || []);
  used.forEach(place);
  for (let sweep = 0; sweep < 3; sweep++) {
    for (let i = 1; i < used.length; i++) pull(used[i], i - 1);
    for (let i = used.length - 2; i >= 0; i--) pull(used[i], i + 1);
  }
  return ranks;
}
