// The whole page: runs as tabs, the state in the address, and the start.

const panels = [];
let shownRun = 0;
let isStarting = true;

// #run=2&topic=14&lambda=0.35&document=3, counted from 1, but topics by their numbers.
function writeAddress() {
  if (isStarting) return;
  const { explorer, documents } = panels[shownRun];
  const place = new URLSearchParams({
    run: shownRun + 1,
    topic: explorer.number(),
    lambda: explorer.lambda().toFixed(2),
  });
  if (documents.index()) place.set("document", documents.index() + 1);
  history.replaceState(null, "", `#${place}`);
}

function readAddress() {
  const place = new URLSearchParams(location.hash.slice(1));
  if (!place.has("run")) return openSection();
  const number = (name) => (place.has(name) ? Number(place.get(name)) : NaN);
  const index = number("run") - 1;
  if (!panels[index]) return false;
  showRun(index);
  const { explorer, documents, run, panel } = panels[index];
  if (number("lambda") >= 0) explorer.setLambda(number("lambda"));
  const document = place.has("document") ? number("document") - 1 : 0;
  if (run.documents[document]) documents.choose(document);
  if (place.get("topic")) explorer.choose(number("topic"), { quiet: true });
  find(".explorer", panel).scrollIntoView({ block: "start" });
  return true;
}

// A link into a hidden run must show the run first.
function openSection() {
  const target = document.getElementById(location.hash.slice(1));
  const panel = target?.closest("[data-run]");
  if (!panel) return false;
  if (panel.hidden) {
    showRun(Number(panel.dataset.run));
    target.scrollIntoView({ block: "start" });
  }
  return true;
}

function showRun(index) {
  shownRun = index;
  panels.forEach((each, i) => {
    each.panel.hidden = i !== index;
    if (!each.tab) return;
    each.tab.setAttribute("aria-selected", i === index);
    each.tab.setAttribute("tabindex", i === index ? "0" : "-1");
  });
}

function startTabs() {
  if (panels.length < 2) return;
  const list = make("div", { role: "tablist", "aria-label": "Runs", class: "tabs" });
  panels.forEach((each, i) => {
    const id = `${each.panel.id}-tab`;
    each.tab = make("button", { type: "button", role: "tab", id, "aria-controls": each.panel.id });
    each.tab.append(isolated(each.run.name));
    fill(each.panel, { role: "tabpanel", "aria-labelledby": id }, []);
    each.tab.addEventListener("click", () => {
      showRun(i);
      writeAddress();
    });
    each.tab.addEventListener("keydown", (event) => {
      const last = panels.length - 1;
      const next = {
        ArrowRight: i === last ? 0 : i + 1,
        ArrowLeft: i === 0 ? last : i - 1,
        Home: 0,
        End: last,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      showRun(next);
      panels[next].tab.focus();
      writeAddress();
    });
    list.append(each.tab);
  });
  find("#runs").prepend(list);
}

function startRun(run, index) {
  const panel = find(`[data-run="${index}"]`);
  const parts = {};
  const explorer = makeExplorer(run, panel, {
    search: (word) => parts.words?.search(word),
    moved: writeAddress,
    chosen(number) {
      parts.documents?.emphasise(number);
      parts.words?.mark(number);
      writeAddress();
    },
  });
  parts.words = startSearch(run, panel, explorer);
  parts.documents = startDocuments(run, panel, explorer, writeAddress);
  panels.push({ run, panel, explorer, documents: parts.documents, tab: null });
  explorer.choose(run.topics[0].number, { quiet: true });
  if (run.documents.length) parts.documents.choose(0);
  for (const name of findAll("[data-choose]", panel)) {
    asButton(name, () => explorer.choose(Number(name.dataset.choose), { go: true }));
  }
}

function asButton(name, choose) {
  const button = make("button", { type: "button", class: "topic-name" });
  button.append(...name.childNodes);
  button.addEventListener("click", choose);
  name.replaceWith(button);
}

// A row chooses its topics in both runs; the clicked name decides which run is shown.
function startAlignments(alignments) {
  for (const table of findAll("table[data-alignment]")) {
    const runs = alignments[Number(table.dataset.alignment)];
    for (const row of table.tBodies[0].rows) {
      const numbers = [row.dataset.first, row.dataset.second];
      const select = (shown) => {
        runs.forEach((run, side) => {
          if (run === null || numbers[side] === "") return;
          panels[run].explorer.choose(Number(numbers[side]), { quiet: true });
        });
        showRun(runs[shown]);
        writeAddress();
        goTo(part(panels[runs[shown]].panel, "name"));
        announce("Both topics chosen, each in its run");
      };
      findAll("td", row).slice(0, 2).forEach((cell, side) => {
        const name = find("[data-choose]", cell);
        if (name && runs[side] !== null) asButton(name, () => select(side));
      });
    }
  }
}

function start() {
  document.documentElement.classList.remove("no-script");
  startTheme();
  startTables();
  startScrolling();
  const source = find("#page-data");
  const data = source ? JSON.parse(source.textContent) : {};
  (data.runs ?? []).forEach(startRun);
  if (panels.length) {
    startTabs();
    startAlignments(data.alignments);
    showRun(0);
    readAddress();
    addEventListener("hashchange", readAddress);
  }
  isStarting = false;
  document.documentElement.dataset.ready = "true";
}

start();
