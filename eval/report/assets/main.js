// Starts the explorer: unpack the table, show it, and follow the address (`#q=ID&run=N`).

async function start() {
  const data = await readTable();
  $("explorer").hidden = !data.rows.length;
  const viewer = new Viewer(data, "beside" in $("explorer").dataset);
  const table = new Table(data, (row, run) => viewer.open(row, run));
  viewer.table = table;
  const follow = () => {
    const address = new URLSearchParams(location.hash.slice(1));
    const row = address.has("q") && data.rows.find(({ id }) => id === address.get("q"));
    if (row) viewer.open(row, Number(address.get("run") ?? data.main), address.get("beside"));
    else if (FILTERS.some((key) => address.has(key))) table.take(address);
  };
  window.addEventListener("hashchange", follow);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || viewer.dialog.open || event.target.matches("input, select")) return;
    event.preventDefault();
    $("find").focus();
  });
  follow();
  performance.mark("explorer-ready");
}

if (typeof DecompressionStream === "undefined") {
  $("explorer").hidden = false;
  $("explorer").replaceChildren(make("p", { class: "note" }, "This browser is too old for the table of questions (it lacks DecompressionStream); all figures stand above."));
} else {
  start();
}
