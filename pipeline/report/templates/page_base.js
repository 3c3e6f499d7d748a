// Parts of every page: elements from data, announcements, colours, sortable tables.
// Text from data becomes only a text node or the value of a harmless attribute.

const SVG = "http://www.w3.org/2000/svg";
const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];
const part = (root, name) => find(`[data-part="${name}"]`, root);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const make = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// Text with its own direction: as an element, and as plain text.
const isolated = (text) => make("bdi", {}, text);
const plain = (text) => `\u2068${text}\u2069`;

function percent(share) {
  const value = 100 * share;
  if (value === 0) return "0\u00a0%";
  if (value < 0.01) return "<0.01\u00a0%";
  if (value > 99.5 && value < 100) return value < 99.95 ? `${value.toFixed(1)}\u00a0%` : ">99.9\u00a0%";
  return `${value.toFixed(value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2)}\u00a0%`;
}

function bar(share, largest, kind = "") {
  const element = make("span", { class: `bar ${kind}` });
  element.style.inlineSize = `${largest > 0 ? (100 * share) / largest : 0}%`;
  return element;
}

function outside(url, text) {
  if (!/^https?:\/\//i.test(url)) return isolated(text);
  return make(
    "a",
    { class: "outside", href: url, target: "_blank", rel: "noopener noreferrer" },
    isolated(text),
    make("span", { class: "mark", "aria-hidden": "true" }, " ↗"),
  );
}

// Citation of the revision in an address, folded under its number.
function citation(title, url, licence) {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return [];
  const { hostname, searchParams } = new URL(url);
  const revision = searchParams.get("oldid") ?? "";
  const isNumbered = /^\d+$/.test(revision);
  const site = /(^|\.)wikipedia\.org$/.test(hostname) ? "Wikipedia" : hostname;
  const rest = [site, isNumbered ? `revision ${revision}` : "", url, licence];
  const what = isNumbered ? `Cite revision ${revision}` : "Cite";
  const summary = make("summary", { "aria-label": `${what}: ${plain(title)}` }, what);
  const text = make(
    "p",
    { dir: "ltr" },
    "“",
    make("cite", { dir: "auto" }, title),
    `”, ${rest.filter(Boolean).join(", ")}.`,
  );
  return [make("details", { class: "cite" }, summary, text)];
}

// A topic and its share as one number; the last three digits are the share in per mille.
const pairsOf = (shares) =>
  shares.map((each) => [Math.floor(each / 1000), (each % 1000) / 1000]);

let announcing;
function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    find("#announcer").textContent = text;
  }, 150);
}

const still = matchMedia("(prefers-reduced-motion: reduce)");
function goTo(element) {
  element.scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block: "start" });
  element.focus({ preventScroll: true });
}

// Many marks with one tab stop: arrow keys move between them, Enter and Space choose.
function navigable(items, choose) {
  const stops = items.map((item) => item.element);
  const stop = (index) => {
    stops.forEach((each, i) => each.setAttribute("tabindex", i === index ? "0" : "-1"));
  };
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  stops.forEach((element, i) => {
    element.addEventListener("click", () => {
      stop(i);
      choose(items[i]);
    });
    element.addEventListener("keydown", (event) => {
      const last = stops.length - 1;
      let next = null;
      if (event.key in steps) next = Math.min(last, Math.max(0, i + steps[event.key]));
      else if (event.key === "Home") next = 0;
      else if (event.key === "End") next = last;
      else if (event.key === "Enter" || event.key === " ") choose(items[i]);
      else return;
      event.preventDefault();
      if (next === null) return;
      stop(next);
      stops[next].focus();
    });
  });
  stop(0);
  return stop;
}

// Previous, a list of all, next.
function chooser(root, name, labels, choose) {
  const select = part(root, name);
  const buttons = [part(root, `${name}-previous`), part(root, `${name}-next`)];
  select.replaceChildren(...labels.map((label, i) => make("option", { value: i }, label)));
  select.addEventListener("change", () => choose(Number(select.value)));
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => choose(Number(select.value) + (i ? 1 : -1)));
  });
  return (index) => {
    select.value = index;
    // Not `disabled`, which would take the focus from the pressed button.
    buttons[0].setAttribute("aria-disabled", index === 0);
    buttons[1].setAttribute("aria-disabled", index === labels.length - 1);
  };
}

function startTheme() {
  const button = find("#theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => {
    button.textContent = isDark() ? "Light colours" : "Dark colours";
  };
  try {
    const kept = localStorage.getItem("theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // Browsers may forbid storage for files; the page then follows the system.
  }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // As above.
    }
  });
  system.addEventListener("change", label);
  label();
}

function sortBy(table, head) {
  const column = [...head.parentElement.children].indexOf(head);
  const falls = head.dataset.sorted
    ? head.dataset.sorted !== "descending"
    : head.dataset.sort === "share";
  for (const each of findAll("th[data-sort]", table)) {
    delete each.dataset.sorted;
    each.removeAttribute("aria-sort");
  }
  head.dataset.sorted = falls ? "descending" : "ascending";
  head.setAttribute("aria-sort", head.dataset.sorted);
  const value = (row) => Number(row.children[column].dataset.value);
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => (falls ? value(b) - value(a) : value(a) - value(b)));
  body.append(...rows);
}

function startTables() {
  for (const table of findAll("table.sortable")) {
    for (const head of findAll("th[data-sort]", table)) {
      const button = make("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      if (head.dataset.sorted) head.setAttribute("aria-sort", head.dataset.sorted);
      button.addEventListener("click", () => sortBy(table, head));
    }
  }
}

// A box that scrolls needs a tab stop.
function startScrolling() {
  const check = (box) => {
    if (box.scrollWidth > box.clientWidth + 1) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  };
  const watcher = new ResizeObserver((changes) => changes.forEach((each) => check(each.target)));
  findAll(".scroll").forEach((box) => watcher.observe(box));
}
