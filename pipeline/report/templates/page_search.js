// Search for a word: suggestions while typing, then its topics.

const N_SUGGESTIONS = 10;
const N_NEAR = 5;
const MIN_COMMON = 3;

// Undo front coding: the first digit, to base 36, is the length of the prefix shared with the word before.
function decoded(words) {
  let before = "";
  return words.map((word) => {
    before = before.slice(0, parseInt(word[0], 36)) + word.slice(1);
    return before;
  });
}

function startSearch(run, panel, explorer) {
  const form = part(panel, "search");
  const input = find("input", form);
  const list = find("[role=listbox]", form);
  const result = part(panel, "found");
  const searched = decoded(run.searched);
  let folded = null;
  let active = -1;

  // Joined pairs have an underscore between their words.
  const fold = (text) => text.trim().toLowerCase().replaceAll(/\s+/g, "_");
  const allFolded = () => (folded ??= searched.map(fold));

  function suggestions(query) {
    const begin = [];
    const inside = [];
    allFolded().forEach((word, i) => {
      if (begin.length >= N_SUGGESTIONS) return;
      if (word.startsWith(query)) begin.push(i);
      else if (inside.length < N_SUGGESTIONS && word.includes(query)) inside.push(i);
    });
    return [...begin, ...inside].slice(0, N_SUGGESTIONS);
  }

  function close() {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function suggest() {
    const query = fold(input.value);
    const found = query ? suggestions(query) : [];
    if (!found.length) {
      close();
      return;
    }
    list.replaceChildren(
      ...found.map((i, at) => {
        const id = `${list.id}-${at}`;
        const option = make("li", { role: "option", id, "aria-selected": "false" });
        option.append(isolated(searched[i]));
        // Keep the focus: losing it would close the list.
        option.addEventListener("pointerdown", (event) => event.preventDefault());
        option.addEventListener("click", () => search(searched[i]));
        return option;
      }),
    );
    list.hidden = false;
    active = -1;
    input.setAttribute("aria-expanded", "true");
    input.removeAttribute("aria-activedescendant");
  }

  function move(step) {
    if (list.hidden) suggest();
    const options = [...list.children];
    if (list.hidden || !options.length) return;
    active = active < 0 && step < 0 ? options.length - 1 : (active + step + options.length) % options.length;
    options.forEach((each, i) => each.setAttribute("aria-selected", i === active));
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
  }

  function indexOf(word) {
    const exact = searched.indexOf(word);
    return exact >= 0 ? exact : allFolded().indexOf(fold(word));
  }

  // Words with the longest common prefix, those of the nearest length first.
  function nearest(word) {
    const wanted = fold(word);
    const common = (other) => {
      let same = 0;
      while (same < wanted.length && wanted[same] === other[same]) same += 1;
      return same;
    };
    const rest = (i) => Math.abs(allFolded()[i].length - wanted.length);
    const shared = allFolded().map(common);
    const longest = shared.reduce((most, each) => Math.max(most, each), 0);
    if (longest < Math.min(MIN_COMMON, wanted.length)) return [];
    return shared
      .flatMap((each, i) => (each === longest ? [i] : []))
      .sort((a, b) => rest(a) - rest(b) || a - b)
      .slice(0, N_NEAR)
      .map((i) => searched[i]);
  }

  // `follow`: choose the word's first topic.
  function search(word, { follow = true } = {}) {
    close();
    input.value = word;
    if (!word.trim()) {
      result.replaceChildren();
      explorer.highlight([]);
      return;
    }
    const index = indexOf(word);
    if (index < 0) sayUnknown(word);
    else showTopics(searched[index], pairsOf(run.found[index]), follow);
  }

  function sayUnknown(word) {
    explorer.highlight([]);
    const rare = run.notSearched
      ? `, or one of the ${run.notSearched.toLocaleString("en")} rarest words, which the page leaves out`
      : "";
    const reason = ` is not among the words of the model: pruned, or spelled differently${rare}. Words are found by lemma, as “city” for “cities”.`;
    const near = nearest(word);
    const buttons = near.map((each) => {
      const button = make("button", { type: "button", class: "topic-name" }, isolated(each));
      button.addEventListener("click", () => search(each));
      return make("li", {}, button);
    });
    result.replaceChildren(make("p", {}, "‘", isolated(word), "’", reason));
    if (near.length) {
      result.append(make("p", {}, "Perhaps one of these:"), make("ul", { class: "near" }, ...buttons));
    }
    const perhaps = near.length ? ` Perhaps ${near.map(plain).join(", ")}.` : "";
    announce(`${plain(word)}${reason}${perhaps}`);
  }

  function showTopics(word, topics, follow) {
    explorer.highlight(topics.map(([number]) => number));
    const rest = Math.max(0, 1 - topics.reduce((sum, [, p]) => sum + p, 0));
    const items = topics.map(([number, p]) => {
      const button = make("button", { type: "button", class: "topic-name", "data-topic": number }, explorer.nameOf(number));
      button.addEventListener("click", () => explorer.choose(number));
      const room = make("span", { class: "room" }, bar(p, 1));
      return make("li", {}, make("span", {}, button), room, make("span", { class: "aside" }, percent(p)));
    });
    if (rest >= 0.005) {
      const label = make("span", { class: "aside" }, topics.length ? "other topics" : "many topics");
      const room = make("span", { class: "room" }, bar(rest, 1, "overall"));
      items.push(make("li", {}, label, room, make("span", { class: "aside" }, percent(rest))));
    }
    result.replaceChildren(
      make("p", {}, "Each occurrence of ‘", isolated(word), "’ is from:"),
      make("ul", { class: "shares" }, ...items),
    );
    const isFollowed = follow && topics.length > 0;
    if (isFollowed) explorer.choose(topics[0][0], { quiet: true });
    else mark(explorer.number());
    const said = topics.map(([number, p]) => `topic ${explorer.nameOf(number)} ${percent(p)}`);
    announce(`${plain(word)}: ${said.join(", ") || "spread over many topics"}${isFollowed ? "; the first is chosen" : ""}`);
  }

  function mark(number) {
    for (const button of findAll("[data-topic]", result)) {
      const isShown = Number(button.dataset.topic) === number;
      button.setAttribute("aria-current", isShown);
      find(".tag", button.parentElement)?.remove();
      if (isShown) button.after(make("span", { class: "tag" }, "shown below"));
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search(active >= 0 ? list.children[active].textContent : input.value);
  });
  input.addEventListener("input", () => {
    suggest();
    if (!input.value) search("");
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
  });
  return {
    mark,
    search(word) {
      search(word, { follow: false });
      result.scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block: "nearest" });
    },
  };
}
