// A reading test: one question at a time, answers kept in the browser and saved as a file.

const test = JSON.parse(find("#page-data").textContent);
const STORED = `wikitopics reading ${test.test}`;
const HASH = "answers";
let state = null;
let isStored = true;
let shownAt = 0;
let isUnsaved = false;

function randomHex(n) {
  const bytes = crypto.getRandomValues(new Uint8Array(n));
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}

function below(n) {
  return crypto.getRandomValues(new Uint32Array(1))[0] % n;
}

function shuffled(group) {
  const found = [...group];
  for (let i = found.length - 1; i > 0; i -= 1) {
    const j = below(i + 1);
    [found[i], found[j]] = [found[j], found[i]];
  }
  return found;
}

// #sheet=3 chooses a sheet, from 1; else it is drawn.
function chosenSheet() {
  const asked = Number(new URLSearchParams(location.hash.slice(1)).get("sheet")) - 1;
  return test.sheets[asked] ? asked : below(test.sheets.length);
}

function fresh() {
  const sheet = chosenSheet();
  const order = test.sheets[sheet].flatMap(shuffled);
  return { reader: randomHex(8), sheet, order, answers: {}, at: -1 };
}

// A state that this page may have stored; null for anything else.
function checked(text) {
  try {
    const found = JSON.parse(text);
    const known = test.sheets[found.sheet].flat();
    const isOrder =
      found.order.length === known.length && known.every((id) => found.order.includes(id));
    const isAnswer = ([id, [option, seconds]]) =>
      known.includes(id) && option in test.questions[id].options && Number.isFinite(seconds);
    const isWhole =
      isOrder &&
      /^[0-9a-f]{16}$/.test(found.reader) &&
      Number.isInteger(found.at) &&
      found.at >= -1 &&
      found.at <= known.length &&
      Object.entries(found.answers).every(isAnswer);
    return isWhole ? found : null;
  } catch {
    return null;
  }
}

// Where the browser stores nothing for a file, the address keeps the answers.
function restored() {
  try {
    localStorage.setItem(`${STORED} tried`, "1");
    localStorage.removeItem(`${STORED} tried`);
    return checked(localStorage.getItem(STORED));
  } catch {
    isStored = false;
    return checked(new URLSearchParams(location.hash.slice(1)).get(HASH));
  }
}

function store() {
  const text = JSON.stringify(state);
  if (isStored) {
    try {
      localStorage.setItem(STORED, text);
      return;
    } catch {
      isStored = false;
      tellStorage();
    }
  }
  history.replaceState(null, "", `#${new URLSearchParams({ [HASH]: text })}`);
}

function tellStorage() {
  const where = part(find("#intro"), "storage");
  where.textContent = isStored
    ? "Your answers stay in this browser until you save them as a file: you can close the page and go on later. Nothing is sent over the network."
    : "This browser stores nothing for this page: your answers are kept in its address. Leave the page open until you have saved them as a file, or reload it or bookmark it to go on later. Nothing is sent over the network.";
}

function show(name) {
  for (const id of ["intro", "asking", "end"]) find(`#${id}`).hidden = id !== name;
}

const asking = find("#asking");
const chosen = () => find("input[name=option]:checked", asking);

function ask() {
  const total = state.order.length;
  const id = state.order[state.at];
  const question = test.questions[id];
  part(asking, "count").textContent = `Question ${state.at + 1} of ${total}`;
  const progress = find("#progress");
  progress.max = total;
  progress.value = state.at;
  part(asking, "heading").textContent = test.tasks[question.task];
  part(asking, "legend").textContent = test.tasks[question.task];
  const excerpt = part(asking, "excerpt");
  excerpt.hidden = !question.text;
  const title = question.title ? [make("h3", { dir: "auto" }, question.title)] : [];
  excerpt.replaceChildren(...title, make("p", { dir: "auto" }, question.text));
  const before = state.answers[id]?.[0];
  const options = question.options.map((words, i) => {
    const input = make("input", { type: "radio", name: "option", value: i, id: `option-${i}` });
    input.checked = i === before;
    return make(
      "label",
      { for: `option-${i}` },
      input,
      make("kbd", { "aria-hidden": "true" }, `${i + 1}`),
      make("bdi", { class: "words" }, words),
    );
  });
  part(asking, "options").replaceChildren(...options);
  part(asking, "back").setAttribute("aria-disabled", state.at === 0);
  part(asking, "next").textContent = state.at === total - 1 ? "Finish" : "Next";
  part(asking, "unsaved").textContent = "";
  mark();
  show("asking");
  part(asking, "heading").focus();
  scrollTo(0, 0);
  announce(`Question ${state.at + 1} of ${total}`);
  shownAt = performance.now();
}

function mark() {
  part(asking, "next").setAttribute("aria-disabled", chosen() === null);
}

function keep() {
  const input = chosen();
  if (!input) return false;
  const id = state.order[state.at];
  const seconds = (state.answers[id]?.[1] ?? 0) + (performance.now() - shownAt) / 1000;
  shownAt = performance.now();
  state.answers[id] = [Number(input.value), Math.round(10 * seconds) / 10];
  isUnsaved = true;
  store();
  return true;
}

function go(at) {
  state.at = at;
  store();
  if (at < state.order.length) ask();
  else finish();
}

function next() {
  if (!keep()) {
    announce("Choose an option first");
    part(asking, "unsaved").textContent = "Choose an option first.";
    return;
  }
  go(state.at + 1);
}

function saved() {
  const given = state.order.filter((id) => id in state.answers);
  return JSON.stringify(
    {
      format: test.format,
      version: test.version,
      test: test.test,
      reader: state.reader,
      sheet: state.sheet,
      answers: given.map((id) => ({
        question: id,
        option: state.answers[id][0],
        seconds: state.answers[id][1],
      })),
    },
    null,
    1,
  );
}

function save() {
  const address = URL.createObjectURL(new Blob([saved()], { type: "application/json" }));
  const link = make("a", { href: address, download: `answers-${state.reader}.json` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  isUnsaved = false;
  announce("The answers are saved as a file");
}

function listSources() {
  const box = part(find("#end"), "sources");
  const shown = state.order.map((id) => test.questions[id]).filter((each) => each.source);
  const titles = new Map(shown.map((each) => [each.source, each.title])); // each text once
  const rows = [...titles].map(([source, title]) =>
    make("li", {}, isolated(title), ": ", make("bdi", { dir: "ltr" }, source)),
  );
  find("ul", box).replaceChildren(...rows);
  box.hidden = rows.length === 0;
}

function finish() {
  listSources();
  const end = find("#end");
  part(end, "answered").textContent = state.order.length;
  find("#as-text").value = saved();
  show("end");
  find("#end-heading").focus();
  scrollTo(0, 0);
}

function begin() {
  const intro = find("#intro");
  part(intro, "number").textContent = state.order.length;
  tellStorage();
  show("intro");
}

function startKeys() {
  addEventListener("keydown", (event) => {
    if (asking.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    const input = /^[1-9]$/.test(event.key) && find(`#option-${Number(event.key) - 1}`);
    if (input) {
      event.preventDefault();
      input.checked = true;
      input.focus();
      mark();
    } else if (event.key === "Enter" && !event.target.closest("button")) {
      event.preventDefault();
      next();
    }
  });
}

function startReading() {
  document.documentElement.classList.remove("no-script");
  startTheme();
  state = restored() ?? fresh();
  part(find("#intro"), "begin").addEventListener("click", () => go(0));
  part(asking, "form").addEventListener("submit", (event) => {
    event.preventDefault();
    next();
  });
  part(asking, "options").addEventListener("change", mark);
  part(asking, "back").addEventListener("click", () => {
    keep();
    if (state.at > 0) go(state.at - 1);
  });
  part(asking, "save-part").addEventListener("click", () => {
    keep();
    if (Object.keys(state.answers).length) save();
    else part(asking, "unsaved").textContent = "There are no answers yet.";
  });
  const end = find("#end");
  part(end, "save").addEventListener("click", save);
  part(end, "review").addEventListener("click", () => go(state.order.length - 1));
  part(end, "again").addEventListener("click", () => {
    state = fresh();
    store();
    findAll("details", end).forEach((each) => each.removeAttribute("open"));
    begin();
    find("#intro-heading").focus();
  });
  addEventListener("beforeunload", (event) => {
    if (!isStored && isUnsaved) event.preventDefault();
  });
  startKeys();
  if (state.at < 0) begin();
  else if (state.at < state.order.length) ask();
  else finish();
  document.documentElement.dataset.ready = "true";
}

startReading();
