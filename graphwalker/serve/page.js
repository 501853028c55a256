// The served page: ask, watch the walk as it goes, come back to earlier ones.

const view = new WalkView();
const KEPT = "graphwalker.asked"; // this browser's own list of what it asked
const MOST = 30;
let running = null;
let topics = []; // chosen entities; `own`: typed by hand, so no question takes it away
let asked = ""; // the question whose topics were looked up

$("view").append(view.root);

function actionWords(event) {
  const names = event.answer.map((one) => one.name + (one.id ? ` (${one.id})` : " (never seen)"));
  return event.answered ? `Answer: ${names.join(", ") || "nothing"}` : `No answer (${event.stop})`;
}

function showEnd(text, look) {
  $("end").textContent = text;
  $("end").className = look;
}

// What the server tells of a question, in order.
class Walking {
  constructor(question) {
    this.walk = { key: `${Math.random()}`, turns: [], nodes: [], links: [] };
    this.question = question;
    view.clear();
    $("shown").hidden = false;
    $("asked").textContent = question;
    $("facts").replaceChildren();
    showEnd("", "");
  }

  take(event) {
    const act = { topics: this.begin, queue: this.wait, turn: this.turn, retry: this.retry, end: this.end, error: this.fail }[event.type];
    act?.call(this, event);
  }

  begin({ topics: named }) {
    this.topics = named;
    $("facts").replaceChildren(labelled("Topic", ...names(named.map((one) => one.name || one.id))));
    $("state").textContent = "walking …";
    const nodes = named.map((one) => [one.name || one.id, "t"]);
    view.load({ ...this.walk, nodes }, { running: true });
  }

  wait({ place }) {
    $("state").textContent = place ? `waiting: place ${place} in line` : "walking …";
  }

  turn({ view: { turn, nodes, links } }) {
    this.walk = { ...this.walk, nodes, links, turns: [...this.walk.turns, turn] };
    view.load(this.walk, { running: true });
    $("state").textContent = `walking … turn ${this.walk.turns.length}`;
  }

  retry() {
    this.walk = { ...this.walk, turns: [] };
    $("state").textContent = "the attempt failed and begins again …";
  }

  end(event) {
    showWalk({ ...event, question: this.question, topics: this.topics }, this.walk.key);
    remember({ id: event.id, question: this.question, answer: actionWords(event), good: event.answered });
    if (event.id) history.replaceState(null, "", `#walk=${event.id}`);
  }

  fail(event) {
    showEnd(`Failed: ${event.error}`, "bad");
    $("state").textContent = "";
  }
}

// A finished walk: one that has just ended, or one from a link.
function showWalk(event, key) {
  const { walk } = event;
  $("shown").hidden = false;
  $("asked").textContent = event.question;
  $("state").textContent = "";
  showEnd(actionWords(event), event.answered ? "good" : "bad");
  view.load({ ...walk, key }, { messages: async () => walk.messages });
  const link = make("a", { href: `#walk=${event.id}` }, "link to this walk");
  $("facts").replaceChildren(labelled("Topic", ...names((event.topics || []).map((one) => one.name || one.id))),
    make("span", {}, [walk.turns.length === 1 ? "one turn" : `${walk.turns.length} turns`, ...costsOf(walk.usage)].join(" · ")), ...(event.id ? [link] : []));
}

async function listen(response, walking) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) walking.take(JSON.parse(part.slice(6)));
  }
}

const post = (address, body, signal) =>
  fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

async function ask(event) {
  event?.preventDefault();
  if (running) return;
  running = new AbortController();
  const question = $("question").value.trim();
  const walking = new Walking(question);
  $("ask").disabled = true;
  $("stop").disabled = false;
  $("state").textContent = "asking …";
  $("shown").scrollIntoView({ block: "start", behavior: "smooth" });
  const chosen = topics.filter((one) => one.own || asked === question).map((one) => one.id);
  try {
    const response = await post("/api/ask", { question, topics: chosen }, running.signal);
    if (response.ok) await listen(response, walking);
    else walking.fail({ error: await response.text() });
  } catch (problem) {
    $("state").textContent = "";
    showEnd(problem.name === "AbortError" ? "Stopped." : "The server is gone.", "bad");
  }
  running = null;
  $("ask").disabled = false;
  $("stop").disabled = true;
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
  const id = new URLSearchParams(location.hash.slice(1)).get("walk");
  if (!id || running) return;
  const response = await fetch(`/api/walks/${encodeURIComponent(id)}`);
  if (response.ok) {
    const event = await response.json();
    showWalk({ ...event, id }, id);
    $("question").value = event.question;
  } else {
    $("state").textContent = await response.text();
    $("question").value = read().find((one) => one.id === id)?.question ?? $("question").value;
  }
}

async function about(tries = 30) {
  const facts = await (await fetch("/api/about")).json();
  const entities = facts.entities ? `, ${facts.entities.toLocaleString("en")} entities` : "";
  $("about").textContent = `${facts.agent}, model ${facts.model}${entities}`;
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
  else if (!view.press(event.key)) return;
  event.preventDefault();
});
window.addEventListener("hashchange", follow);
drawHistory(read());
about();
follow();
