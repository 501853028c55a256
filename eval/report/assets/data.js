// The data blocks of the page: gzip in base64, unpacked when they are needed.

const KEPT = 8; // chunks of walks that stay unpacked
const unpacked = new Map();

async function unpack(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

async function readTable() {
  const { questions, runs, kinds } = await unpack("rows");
  const rows = questions.map(([id, text, structure, split, hops, topics, gold], place) => ({
    place, id, text, structure, split, hops, topics, gold,
    runs: runs.map((run) => readFacts(run, place)),
  }));
  for (const row of rows) row.words = searched(row);
  const walked = runs.findLastIndex((run) => run.rows.some((facts) => facts?.[3]));
  return { rows, kinds, names: runs.map((run) => run.name), main: walked < 0 ? runs.length - 1 : walked };
}

function readFacts(run, place) {
  const facts = run.rows[place];
  if (!facts) return null;
  const [outcome, em, f1, turns, answers, stop, kind, tokens, chunk, at] = facts;
  return { outcome, em, f1, turns, answers, stop, kind, tokens, chunk, at, samples: run.samples[place] || null };
}

function searched(row) {
  const answers = row.runs.flatMap((run) => (run ? run.answers : []));
  return [row.id, row.text, row.structure, ...row.topics, ...row.gold, ...answers]
    .join("\n").toLowerCase();
}

const readWalk = (run, facts) => readChunk(`walks-${run}-${facts.chunk}`, facts.at);

async function readMessages(run, facts) {
  const id = `messages-${run}-${facts.chunk}`;
  return document.getElementById(id) && readChunk(id, facts.at);
}

async function readChunk(id, at) {
  const chunk = unpacked.get(id) || unpack(id);
  unpacked.delete(id);
  unpacked.set(id, chunk); // the newest last, the oldest goes
  if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value);
  return (await chunk)[at];
}
