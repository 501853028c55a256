// Where things stand in a drawing. Nodes and relations are boxes of their own, in columns by their
// distance from the topic entities, so no label can lie over another. A narrow screen gets an outline.

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif";
const SIZE = { name: 13, small: 12 }; // pixels; the least zoom keeps both above 11
const LINE = 1.3; // heights of a line
const WIDEST = { node: 150, pill: 170 }; // pixels of a line of a label
const GAP = { column: 46, close: 26, row: 12, step: 18 }; // close: where the columns would not fit otherwise
const FEW = 4; // ends of one relation that are all drawn; of more, those that lead nowhere are folded
const OUTLINE = 620; // pixels; a narrower drawing is an outline

const ruler = document.createElement("canvas").getContext("2d");

function measure(text, size, bold) {
  ruler.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

// The walk's levels, and the nodes that nothing else hangs on.
function spread(walk) {
  const { nodes, links, turns } = walk;
  const beside = nodes.map(() => []);
  for (const [head, , tail] of links) {
    beside[head].push(tail);
    beside[tail].push(head);
  }
  const focus = new Set(turns.map((turn) => turn.focus));
  const levels = nodes.map(() => -1);
  const topics = nodes.flatMap(([, marks], i) => (marks.includes("t") ? [i] : []));
  const starts = [topics, ...[...focus].filter((node) => node >= 0).map((node) => [node]), ...nodes.map((_, i) => (beside[i].length ? [i] : []))];
  for (const start of starts) {
    let front = start.filter((node) => levels[node] < 0);
    for (let level = 0; front.length; level++) {
      front.forEach((node) => (levels[node] = level));
      front = [...new Set(front.flatMap((node) => beside[node]))].filter((node) => levels[node] < 0);
    }
  }
  const last = Math.max(0, ...levels) + 1;
  levels.forEach((level, i) => level < 0 && (levels[i] = last));
  const leaf = nodes.map(([, marks], i) => beside[i].length === 1 && !marks.replace("c", "") && !focus.has(i));
  return { levels, leaf };
}

// Boxes and the wires between them, without places. `shown`: sets of nodes and links by their number.
function connect(walk, shown, open) {
  const { levels, leaf } = spread(walk);
  const items = new Map();
  const wires = [];
  const add = (item) => items.set(item.key, item).get(item.key);
  for (const node of shown.nodes) add(nodeBox(walk, node, levels[node], open));
  const pills = new Map();
  for (const link of shown.links) {
    const [head, relation, tail] = walk.links[link];
    const out = levels[head] <= levels[tail];
    const [anchor, end] = out ? [head, tail] : [tail, head];
    const key = `p${anchor}|${out}|${relation}`;
    if (!pills.has(key)) pills.set(key, { anchor, out, relation, ends: [] });
    pills.get(key).ends.push({ link, end });
  }
  for (const [key, { anchor, out, relation, ends }] of pills) {
    const turns = ends.map(({ link }) => walk.links[link][3]);
    const seen = Math.min(...turns.filter(Boolean));
    const pill = add(pillBox(key, relation, Number.isFinite(seen) ? seen : 0, levels[anchor], open));
    pill.links = ends.map(({ link }) => link);
    wires.push({ key: `${key}<`, from: `n${anchor}`, to: key, links: pill.links, arrow: out ? "" : "from" });
    const folded = ends.filter(({ end }) => leaf[end]);
    const rest = folded.length > FEW ? folded.slice(FEW - 1) : [];
    const more = `m${key}`;
    for (const { link, end } of ends) {
      if (rest.some((one) => one.end === end) && !open.has(more)) items.delete(`n${end}`);
      else wires.push({ key: `${key}>${end}`, from: key, to: `n${end}`, links: [link], arrow: out ? "to" : "" });
    }
    if (!rest.length) continue;
    add(moreBox(more, open.has(more) ? "− fewer" : `+ ${rest.length} more`, levels[anchor] + 1));
    wires.push({ key: more, from: key, to: more, links: rest.map(({ link }) => link), arrow: "" });
  }
  return { items, wires: wires.filter(({ from, to }) => items.has(from) && items.has(to)) };
}

function box(key, kind, column, lines, size) {
  const width = Math.ceil(Math.max(16, ...lines.map(({ text, small }) => measure(text, small ? SIZE.small : size, kind === "node" && !small))));
  return { key, kind, column, lines, width: width + 18, height: Math.ceil(lines.length * size * LINE) + (kind === "node" ? 14 : 8) };
}

function nodeBox(walk, node, level, open) {
  const [name, marks] = walk.nodes[node];
  const key = `n${node}`;
  const bare = marks.includes("c") && !open.has(key); // a node without a name: its id on request
  const lines = fill(bare ? "◇" : name, WIDEST.node, SIZE.name, true).map((text) => ({ text }));
  const words = describe(walk, marks);
  if (words) lines.push({ text: words, small: true });
  return { ...box(key, "node", 2 * level, lines, SIZE.name), node, title: name };
}

function pillBox(key, relation, turn, level, open) {
  const shown = open.has(key) ? relation.split("..").join(" ◇ ") : short(relation);
  const lines = broken(`${turn || "gold"}: ${shown}`, WIDEST.pill).map((text) => ({ text, small: true }));
  return { ...box(key, "pill", 2 * level + 1, lines, SIZE.small), title: relation };
}

const moreBox = (key, text, level) => ({ ...box(key, "more", 2 * level, [{ text, small: true }], SIZE.small), title: text });

function describe(walk, marks) {
  const judged = walk.nodes.some(([, other]) => other.includes("g")); // a question with gold answers
  const good = !judged || marks.includes("g");
  return [
    marks.includes("t") && "topic",
    marks.includes("g") && "★ gold",
    marks.includes("a") && `${good ? "✓" : "✗"} ${judged ? "answered" : "answer"}`,
    marks.includes("?") && "never shown",
  ].filter(Boolean).join(" · ");
}

// A name in lines of at most `most` pixels, at most four of them.
function fill(name, most, size, bold) {
  const lines = [""];
  for (const piece of name.match(/\S{1,16}|\s+/g) || [""]) {
    const longer = lines.at(-1) + piece.replace(/\s+/, " ");
    if (measure(longer, size, bold) <= most || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(piece.trimStart());
  }
  return lines.length <= 4 ? lines : [...lines.slice(0, 3), `${lines[3]}…`];
}

// The telling end of a relation id: `people.person.nationality` is `nationality`; ◇ is a CVT.
function short(relation) {
  if (relation.includes("://")) return relation.replace(/[/#]+$/, "").split(/[/#]/).pop();
  const ends = relation.split("..").map((part) => part.replace(/\.$/, "").split(/[./]/).pop() || part);
  return ends[0] === ends[1] ? ends[0] : ends.join(" ◇ ");
}

// A relation in lines of at most `most` pixels, broken after dots, slashes, underscores and spaces.
function broken(text, most) {
  const lines = [""];
  for (const word of text.match(/[^._/\s]*[._/\s]*/g).filter(Boolean)) {
    for (const piece of word.match(/.{1,24}/gsu)) {
      if (lines.at(-1) && measure(lines.at(-1) + piece, SIZE.small) > most) lines.push(piece);
      else lines[lines.length - 1] += piece;
    }
  }
  return lines.length <= 6 ? lines : [...lines.slice(0, 5), `${lines[5]}…`];
}

// Boxes with their places and wires with their paths, in a drawing of this width.
function arrange(walk, shown, open, width) {
  const { items, wires } = connect(walk, shown, open);
  const made = width < OUTLINE ? outline(items, wires) : columns(items, wires, width / LEAST);
  const all = [...made.items.values()];
  const right = Math.max(0, ...all.map((item) => item.x + item.width));
  const bottom = Math.max(0, ...all.map((item) => item.y + item.height));
  return { ...made, width: right + 4, height: bottom + 4 };
}

function columns(items, wires, room) {
  const found = [];
  for (const item of items.values()) (found[item.column] ??= []).push(item);
  const used = found.filter(Boolean);
  const near = new Map([...items.keys()].map((key) => [key, []]));
  for (const { from, to } of wires) {
    near.get(from).push(items.get(to));
    near.get(to).push(items.get(from));
  }
  used.forEach((column) => stack(column, near, () => false));
  for (let sweep = 0; sweep < 4; sweep++) {
    for (const column of used) stack(column, near, (other) => other.column < column[0].column);
    for (const column of [...used].reverse()) stack(column, near, (other) => other.column > column[0].column);
  }
  const widths = used.map((column) => Math.max(...column.map((item) => item.width)));
  const bends = used.map((column) => { // a wire to a tall column needs room to turn
    const tall = Math.max(...column.map((item) => item.y + item.height)) - Math.min(...column.map((item) => item.y));
    return Math.min(60, tall / 12);
  });
  const free = room - 10 - [...widths, ...bends.slice(0, -1)].reduce((sum, one) => sum + one, 0);
  const gap = Math.max(GAP.close, Math.min(GAP.column, free / (used.length - 1)));
  let x = 2;
  used.forEach((column, i) => {
    for (const item of column) Object.assign(item, { x: x + (widths[i] - item.width) / 2, left: x, right: x + widths[i] });
    x += widths[i] + gap + bends[i];
  });
  const top = Math.min(...[...items.values()].map((item) => item.y));
  for (const item of items.values()) item.y += 3 - top;
  for (const wire of wires) wire.path = curve(items.get(wire.from), items.get(wire.to), wire);
  return { items, wires };
}

// Each box as near as can be to the middle of its neighbours, none over another: runs that would
// overlap are merged, and stand where their boxes want to be on average.
function stack(column, near, counts) {
  const wish = new Map(column.map((item, i) => {
    const others = near.get(item.key).filter(counts);
    const middle = others.reduce((sum, other) => sum + other.y + other.height / 2, 0) / others.length;
    return [item, others.length ? middle : (item.y ?? i * 50) + item.height / 2];
  }));
  column.sort((a, b) => wish.get(a) - wish.get(b) || (a.key < b.key ? -1 : 1));
  const runs = [];
  for (const item of column) {
    let run = { items: [item], height: item.height, top: wish.get(item) - item.height / 2 };
    while (runs.length && runs.at(-1).top + runs.at(-1).height + GAP.row > run.top) {
      const above = runs.pop();
      const [n, m] = [above.items.length, run.items.length];
      const shift = above.height + GAP.row;
      run = { items: [...above.items, ...run.items], height: shift + run.height, top: (above.top * n + (run.top - shift) * m) / (n + m) };
    }
    runs.push(run);
  }
  for (const run of runs) {
    let y = run.top;
    for (const item of run.items) {
      item.y = y;
      y += item.height + GAP.row;
    }
  }
}

// Level until its column ends, then a curve through the gap: no wire crosses a box.
function curve(a, b, wire) {
  const back = b.left < a.left; // an end of the same level: out of the pill's left side
  const [from, to] = back ? [b, a] : [a, b];
  const start = { x: from.x + from.width, y: from.y + from.height / 2 };
  const end = { x: to.x, y: to.y + to.height / 2 };
  const bend = Math.max(20, (to.left - from.right) / 2);
  wire.tips = [];
  if (wire.arrow === "to") wire.tips.push(back ? { ...start, turn: 180 } : { ...end, turn: 0 });
  if (wire.arrow === "from") wire.tips.push({ ...start, turn: 180 });
  return `M${start.x} ${start.y}H${from.right}C${from.right + bend} ${start.y} ${to.left - bend} ${end.y} ${to.left} ${end.y}H${end.x}`;
}

// Each box on a line of its own, indented under what it hangs on; where a box stands already, a
// line that names it.
function outline(items, wires) {
  const placed = new Map();
  const lines = [];
  let y = 2;
  const place = (item, depth, wire, parent) => {
    Object.assign(item, { x: 2 + depth * GAP.step, y });
    y += item.height + 7;
    placed.set(item.key, item);
    if (parent) lines.push({ ...wire, ...elbow(parent, item, wire) });
  };
  const grow = (item, depth) => {
    for (const wire of wires) {
      if (wire.from !== item.key) continue;
      const next = items.get(wire.to);
      if (placed.has(next.key)) {
        const text = `↪ ${next.lines[0].text}`;
        place({ ...box(`g${wire.key}`, "more", 0, [{ text, small: true }], SIZE.small), title: next.title }, depth + 1, wire, item);
      } else {
        place(next, depth + 1, wire, item);
        grow(next, depth + 1);
      }
    }
  };
  for (const item of [...items.values()].sort((a, b) => a.column - b.column)) {
    if (placed.has(item.key) || item.kind !== "node") continue;
    place(item, 0);
    grow(item, 0);
  }
  return { items: placed, wires: lines };
}

function elbow(parent, item, wire) {
  const [x, y] = [parent.x + 9, item.y + item.height / 2];
  const tips = wire.arrow === "to" ? [{ x: item.x, y, turn: 0 }] : wire.arrow === "from" ? [{ x, y: parent.y + parent.height, turn: 270 }] : [];
  return { path: `M${x} ${parent.y + parent.height}V${y}H${item.x}`, tips };
}
