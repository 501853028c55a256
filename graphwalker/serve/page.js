// The served page: ask, watch the walk as it goes, come back to earlier ones.

const KEPT = "graphwalker.asked"; // this browser's own list of what it asked
const MOST = 30;
const panes = []; // one for each model that is served
let running = null;
let topics = []; // chosen entities; `own`: typed by hand, so no question takes it away
let asked = ""; // the question whose topics were looked up

function actionWords(event) {
  const names = event.answer.map((one) => one.name + (one.id ? ` (${one.id})` : " (never seen)"));
  return event.answered ? `Answer: ${names.join(", ") || "nothing"}` : `No answer (${event.stop})`;
}

const oneLine = (text) => String(text).replace(/\s+/g, " ").trim();

// The answer with the triples that lead to it, as text for elsewhere. Names are other people's words:
// each is one line without tabs, so none can pass for a triple of its own.
function evidenceText(question, event) {
  const { nodes, links } = event.walk;
  const way = [...findEvidence(event.walk)].map((link) => links[link]).sort((a, b) => a[3] - b[3]);
  const triples = way.map(([head, relation, tail, turn]) => [nodes[head][0], relation, nodes[tail][0], `turn ${turn}`].map(oneLine).join("\t"));
  return [`Question: ${oneLine(question)}`, oneLine(actionWords(event)), "Evidence:", ...(triples.length ? triples : ["no triple that the walk saw leads to it"]), ""].join("\n");
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // a page that came without https has no clipboard: the old way
    const area = make("textarea", { readonly: "", class: "aside" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function copyButton(text) {
  const button = make("button", { type: "button", title: "question, answer and the triples that lead to it, as text" }, "Copy with evidence");
  button.addEventListener("click", async () => {
    await copy(text());
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy with evidence"), 2000);
  });
  return button;
}

// One model's walk: what the server tells of a question, in order.
class Pane {
  constructor(model) {
    this.model = model;
    this.view = new WalkView();
    this.end = make("p", { class: "end", "aria-live": "assertive" });
    this.facts = make("div", { class: "facts note" });
    this.state = make("p", { class: "note", role: "status" });
    this.view.head.append(...(model ? [make("h3", {}, model)] : []), this.end, this.facts, this.state);
    $("view").append(this.view.root);
  }

  start() {
    this.walk = { key: `${Math.random()}`, turns: [], nodes: [], links: [] };
    this.done = null;
    this.view.clear();
    this.facts.replaceChildren();
    this.tell("", "");
    this.state.textContent = "asking …";
  }

  tell(text, look) {
    this.view.root.classList.toggle("failed", look === "bad" && !this.view.walk);
    this.end.textContent = text;
    this.end.className = `end ${look}`;
    this.state.textContent = "";
  }

  take(event) {
    const act = { topics: this.begin, queue: this.wait, turn: this.turn, retry: this.retry, end: this.finish, error: this.fail }[event.type];
    act?.call(this, event);
  }

  begin({ topics: named }) {
    this.topics = named;
    this.facts.replaceChildren(labelled("Topic", ...names(named.map((one) => one.name || one.id))));
    this.state.textContent = "walking …";
    this.view.load({ ...this.walk, nodes: named.map((one) => [one.name || one.id, "t"]) }, { running: true });
  }

  wait({ place }) {
    this.state.textContent = place ? `waiting: place ${place} in line` : "walking …";
  }

  turn({ view: { turn, nodes, links } }) {
    this.walk = { ...this.walk, nodes, links, turns: [...this.walk.turns, turn] };
    this.view.load(this.walk, { running: true });
    this.state.textContent = `walking … turn ${this.walk.turns.length + 1}`;
  }

  retry() {
    this.walk = { ...this.walk, turns: [] };
    this.state.textContent = "the attempt failed and begins again …";
  }

  finish(event) {
    this.show({ ...event, topics: this.topics }, this.walk.key);
  }

  fail(event) {
    this.tell(`Failed: ${event.error}`, "bad");
  }

  // A finished walk: one that has just ended, or one from a link.
  show(event, key) {
    this.done = event;
    const { walk } = event;
    this.tell(actionWords(event), event.answered ? "good" : "bad");
    this.view.load({ ...walk, key }, { messages: async () => walk.messages });
    const link = make("a", { href: `#walk=${event.id}` }, "link to this walk");
    const turns = walk.turns.length === 1 ? "one turn" : `${walk.turns.length} turns`;
    this.facts.replaceChildren(labelled("Topic", ...names((event.topics || []).map((one) => one.name || one.id))),
      make("span", {}, [turns, ...costsOf(walk.usage)].join(" · ")), ...(event.id ? [link] : []),
      ...(event.answer.length ? [copyButton(() => evidenceText($("asked").textContent, event))] : []));
  }
}

// Marks where two models part.
function setBeside() {
  const views = panes.map((pane) => pane.view).filter((view) => view.walk);
  if (views.length > 1) markDifference(views);
}

async function listen(response, pane) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) pane.take(JSON.parse(part.slice(6)));
  }
}

const post = (address, body, signal) =>
  fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

async function ask(event) {
  event?.preventDefault();
  if (running || !panes.length) return;
  running = new AbortController();
  const question = $("question").value.trim();
  $("asked").textContent = question;
  $("shown").hidden = false;
  $("ask").disabled = true;
  $("stop").disabled = false;
  $("shown").scrollIntoView({ block: "start", behavior: "smooth" });
  const chosen = topics.filter((one) => one.own || asked === question).map((one) => one.id);
  await Promise.all(panes.map((pane, which) => askOne(pane, { question, topics: chosen, which })));
  running = null;
  $("ask").disabled = false;
  $("stop").disabled = true;
  const done = panes.map((pane) => pane.done).filter(Boolean);
  if (!done.length) return;
  setBeside();
  const id = done.map((one) => one.id).join(",");
  history.replaceState(null, "", `#walk=${id}`);
  remember({ id, question, answer: done.map(actionWords).join(" | "), good: done.every((one) => one.answered) });
}

async function askOne(pane, body) {
  pane.start();
  try {
    const response = await post("/api/ask", body, running.signal);
    if (response.ok) await listen(response, pane);
    else pane.fail({ error: await response.text() });
  } catch (problem) {
    pane.tell(problem.name === "AbortError" ? "Stopped." : "The server is gone.", "bad");
  }
}

function drawTopics() {
  $("topics").replaceChildren(...topics.map((one, i) => {
    const remove = make("button", { type: "button", "aria-label": `remove ${one.name || one.id}` }, "✕");
    remove.addEventListener("click", () => {
      topics.splice(i, 1);
      drawTopics();
    });
    return make("span", { class: "chip" }, one.name || one.id, one.candidates?.length > 1 ? choice(one) : make("small", { class: "note" }, one.kind || ""), remove);
  }));
}

// One of several entities of the same name.
function choice(one) {
  const made = make("select", { "aria-label": `which ${one.name}` }, ...one.candidates.map(({ id, kind }) =>
    make("option", { value: id, selected: id === one.id ? "" : null }, [kind, id].filter(Boolean).join(" · "))));
  made.addEventListener("input", () => (one.id = made.value));
  return made;
}

let wait = 0;
function later(act) {
  clearTimeout(wait);
  wait = setTimeout(act, 350);
}

async function findTopics() {
  const question = $("question").value.trim();
  if (!question || question === asked) return;
  const response = await post("/api/topics", { question });
  if (!response.ok || question !== $("question").value.trim()) return;
  const found = (await response.json()).topics;
  asked = question;
  const own = topics.filter((one) => one.own);
  topics = [...own, ...found.filter((one) => !own.some((other) => other.id === one.id))];
  drawTopics();
}

let offered = [];
async function complete() {
  const typed = $("topic").value.trim();
  if (!typed || offered.some((one) => one.name === typed || one.id === typed)) return;
  const response = await fetch(`/api/names?q=${encodeURIComponent(typed)}`);
  if (!response.ok) return;
  offered = (await response.json()).names;
  const twice = (name) => offered.filter((one) => one.name === name).length > 1;
  $("names").replaceChildren(...offered.map(({ id, name, kind }) =>
    make("option", { value: twice(name) || !name ? id : name }, [name, kind, id].filter(Boolean).join(" · "))));
}

function addTopic() {
  const typed = $("topic").value.trim();
  if (!typed) return false;
  const one = offered.find((found) => found.id === typed || found.name === typed) || { id: typed, name: typed };
  if (!topics.some((other) => other.id === one.id)) topics.push({ ...one, own: true });
  $("topic").value = "";
  drawTopics();
  return true;
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) || [];
  } catch {
    return [];
  }
}

function remember(one) {
  const list = one ? [one, ...read()].slice(0, MOST) : [];
  try {
    localStorage.setItem(KEPT, JSON.stringify(list));
  } catch { /* a browser that stores nothing */ }
  drawHistory(list);
}

function drawHistory(list) {
  $("history").hidden = !list.length;
  $("past").replaceChildren(...list.map(({ id, question, answer, good }) =>
    make("li", {}, make("a", { href: `#walk=${encodeURIComponent(id)}` }, question), " ", make("span", { class: good ? "good" : "bad" }, answer))));
}

async function follow() {
  const key = new URLSearchParams(location.hash.slice(1)).get("walk");
  if (!key || running) return;
  const ids = key.split(",").slice(0, panes.length);
  const responses = await Promise.all(ids.map((id) => fetch(`/api/walks/${encodeURIComponent(id)}`)));
  const lost = responses.find((response) => !response.ok);
  if (lost) {
    $("state").textContent = await lost.text();
    $("question").value = read().find((one) => one.id === key)?.question ?? $("question").value;
    return;
  }
  const events = await Promise.all(responses.map((response) => response.json()));
  $("shown").hidden = false;
  $("state").textContent = "";
  $("question").value = $("asked").textContent = events[0].question;
  events.forEach((event, i) => panes[i].show({ ...event, id: ids[i] }, ids[i]));
  panes.slice(events.length).forEach((pane) => pane.start() ?? pane.tell("", ""));
  setBeside();
}

async function about(tries = 30) {
  const facts = await (await fetch("/api/about")).json();
  if (!panes.length) {
    panes.push(...facts.models.map((model) => new Pane(facts.models.length > 1 ? model : "")));
    follow();
  }
  const entities = facts.entities ? `, ${facts.entities.toLocaleString("en")} entities` : "";
  $("about").textContent = `${facts.agent}, ${facts.models.length > 1 ? "models" : "model"} ${facts.models.join(" and ")}${entities}`;
  if (facts.examples === null && tries) setTimeout(() => about(tries - 1), 1500);
  for (const example of facts.examples || []) {
    const button = make("button", { type: "button" }, example.question);
    button.addEventListener("click", () => {
      $("question").value = asked = example.question;
      topics = example.topics.map((one) => ({ ...one }));
      drawTopics();
      ask();
    });
    $("examples").append(button);
  }
  $("examples").hidden = !facts.examples?.length;
}

$("form").addEventListener("submit", ask);
$("stop").addEventListener("click", () => running?.abort());
$("forget").addEventListener("click", () => remember(null));
$("question").addEventListener("input", () => later(findTopics));
$("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  $("form").requestSubmit();
});
$("topic").addEventListener("input", () => (offered.some((one) => one.id === $("topic").value) ? addTopic() : later(complete)));
$("topic").addEventListener("change", addTopic);
$("topic").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && addTopic()) event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") running?.abort();
  if (event.target.matches("input, textarea, select, button")) return;
  if (event.key === "/") $("question").focus();
  else if (!panes.map((pane) => pane.view.walk && pane.view.press(event.key)).some(Boolean)) return;
  event.preventDefault();
});
window.addEventListener("hashchange", follow);
drawHistory(read());
about();
