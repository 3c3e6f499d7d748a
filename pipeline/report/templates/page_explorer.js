// Topics of a run: map, words by relevance, cloud and typical articles of the chosen topic.

// Relevance of Sievert & Shirley (2014): λ log p(w|k) + (1 − λ) log(p(w|k) / p(w)). The data has all
// words that are among the most relevant at some λ, so the result equals a full sort.
function relevant(run, topic, lambda) {
  const relevance = topic.words.map((w, i) => {
    const probability = Math.log(topic.probabilities[i]);
    return lambda * probability + (1 - lambda) * (probability - Math.log(run.share[w]));
  });
  return topic.words
    .map((_, i) => i)
    .sort((a, b) => relevance[b] - relevance[a] || a - b)
    .slice(0, run.nWords);
}

function makeExplorer(run, panel, events) {
  const indexOf = new Map(run.topics.map((topic, i) => [topic.number, i]));
  const state = { index: 0, lambda: 0.6 };
  const nameOf = (number) => {
    const topic = run.topics[indexOf.get(number)];
    return topic ? `${number} ${plain(topic.label)}` : String(number);
  };
  const slider = part(panel, "lambda");
  const current = () => run.topics[state.index];
  const marks = startMap(run, panel, (number) => choose(number));
  const show = chooser(
    panel,
    "topic",
    run.topics.map((topic) => `${nameOf(topic.number)} (${percent(topic.prevalence)})`),
    (index) => {
      if (run.topics[index]) choose(run.topics[index].number);
    },
  );

  function showWords() {
    const topic = current();
    const order = relevant(run, topic, state.lambda);
    const largest = Math.max(
      ...order.map((i) => Math.max(topic.probabilities[i], run.share[topic.words[i]])),
    );
    const rows = order.map((i) => {
      const word = run.words[topic.words[i]];
      const [inside, overall] = [topic.probabilities[i], run.share[topic.words[i]]];
      const button = make("button", { type: "button", class: "word" }, isolated(word));
      button.addEventListener("click", () => events.search(word));
      const lift = inside / overall;
      return make(
        "tr",
        {},
        make("th", { scope: "row" }, button),
        make("td", { class: "pair-of-bars" }, bar(inside, largest), bar(overall, largest, "overall")),
        make("td", {}, percent(inside)),
        make("td", {}, percent(overall)),
        make("td", {}, `×${lift >= 10 ? Math.round(lift).toLocaleString("en") : lift.toFixed(1)}`),
      );
    });
    part(panel, "words").replaceChildren(...rows);
    part(panel, "lambda-value").textContent = state.lambda.toFixed(2);
    part(panel, "lambda-sorted").textContent = state.lambda.toFixed(2);
    slider.value = state.lambda;
  }

  function showTopic() {
    const topic = current();
    const name = part(panel, "name");
    name.replaceChildren(
      make("span", { class: "topic-number" }, `Topic ${topic.number}`),
      " ",
      isolated(topic.label),
    );
    const rank = [...run.topics].filter((each) => each.prevalence > topic.prevalence).length + 1;
    part(panel, "facts").textContent =
      `${percent(topic.prevalence)} of the training tokens` +
      (run.topics.length > 1 ? `; number ${rank} of ${run.topics.length} by size.` : ".");
    show(state.index);
    marks.select(topic.number);
    showWords();
    showCloud(run, topic, panel, events.search);
    showTypical(run, topic, panel);
    for (const row of findAll("tr[data-topic]", panel)) {
      row.classList.toggle("chosen", Number(row.dataset.topic) === topic.number);
    }
  }

  function choose(number, options = {}) {
    if (!indexOf.has(number)) return;
    state.index = indexOf.get(number);
    showTopic();
    events.chosen(number);
    if (options.go) goTo(part(panel, "name"));
    if (!options.quiet) announce(`Topic ${nameOf(number)} chosen`);
  }

  function setLambda(value) {
    state.lambda = Math.min(1, Math.max(0, Math.round(100 * value) / 100));
    showWords();
  }

  slider.addEventListener("input", () => {
    setLambda(Number(slider.value));
    events.moved();
  });
  return {
    choose,
    setLambda,
    nameOf,
    highlight: marks.highlight,
    number: () => current().number,
    lambda: () => state.lambda,
  };
}

// Circles of the map as buttons.
function startMap(run, panel, choose) {
  const map = part(panel, "map");
  const elementOf = new Map();
  if (map) {
    keepLegible(find("svg", map));
    for (const element of findAll("[data-gid]", map)) {
      elementOf.set(Number(element.dataset.gid.replace("topic-", "")), element);
    }
  }
  const items = run.topics
    .filter((topic) => elementOf.has(topic.number))
    .map((topic) => ({ number: topic.number, topic, element: elementOf.get(topic.number) }));
  for (const { topic, element } of items) {
    const name = `Topic ${topic.number}: ${plain(topic.label)}, ${percent(topic.prevalence)}`;
    fill(element, { role: "button", "aria-pressed": "false", "aria-label": name }, []);
    for (const title of findAll("title", element)) title.remove();
    element.prepend(draw("title", {}, name));
  }
  const stop = items.length ? navigable(items, (item) => choose(item.number)) : () => {};
  return {
    select(number) {
      items.forEach((item, i) => {
        const isChosen = item.number === number;
        item.element.setAttribute("aria-pressed", isChosen);
        if (isChosen) stop(i);
      });
    },
    highlight(numbers) {
      for (const item of items) {
        item.element.classList.toggle("found", numbers.includes(item.number));
      }
    },
  };
}

// Figures are drawn for a whole page. In a narrower map, enlarge the texts as far as they fit into
// their circles.
function keepLegible(svg) {
  const texts = findAll("text", svg).map((text) => {
    const size = parseFloat(getComputedStyle(text).fontSize);
    return { text, size, dy: parseFloat(text.getAttribute("dy")) || 0 };
  });
  const fit = () => {
    const shrunk = svg.viewBox.baseVal.width / svg.clientWidth;
    if (!Number.isFinite(shrunk)) return;
    for (const { text, size, dy } of texts) {
      const circle = find("circle", text.closest("[data-gid]") ?? text);
      const isInside = circle && text.style.textAnchor === "middle";
      const wanted = size * Math.min(isInside ? 1.7 : 1.25, Math.max(1, shrunk));
      const room = isInside ? (2.6 * circle.r.baseVal.value) / (text.textContent.length + 0.6) : wanted;
      const chosen = Math.max(size, Math.min(wanted, room));
      text.style.fontSize = `${chosen}px`;
      text.setAttribute("dy", dy + 0.35 * (chosen - size));
    }
  };
  new ResizeObserver(fit).observe(svg);
}

// Words of the cloud are for the pointer; the list beside it is for the keyboard.
// The page's font differs from that of the layout: shrink words to their width.
const pen = make("canvas").getContext("2d");
function showCloud(run, topic, panel, search) {
  const family = getComputedStyle(document.body).fontFamily;
  const side = part(panel, "cloud-side");
  side.hidden = topic.cloud.length === 0;
  const words = topic.cloud.map(([w, x, y, size, width, upright]) => {
    pen.font = `100px ${family}`;
    const natural = (pen.measureText(run.words[w]).width * size) / 100;
    // Other fonts have taller letters: a smaller size keeps lines apart.
    const fitting = 0.92 * (natural > width ? (size * width) / natural : size);
    const text = draw(
      "text",
      {
        x,
        y,
        "font-size": fitting.toFixed(2),
        "text-anchor": "middle",
        "dominant-baseline": "central",
        ...(upright ? { transform: `rotate(-90 ${x} ${y})` } : {}),
      },
      run.words[w],
    );
    text.addEventListener("click", () => search(run.words[w]));
    return text;
  });
  const name = `Word cloud of topic ${topic.number}`;
  part(panel, "cloud").replaceChildren(
    draw("svg", { viewBox: "0 0 400 240", role: "img", "aria-label": name }, ...words),
  );
}

function showTypical(run, topic, panel) {
  part(panel, "typical-side").hidden = topic.typical.length === 0;
  part(panel, "typical").replaceChildren(
    ...topic.typical.map(([title, url, share]) =>
      make(
        "li",
        {},
        make("span", { class: "title" }, outside(url, title)),
        make("span", { class: "aside" }, percent(share)),
        ...citation(title, url, run.licence),
      ),
    ),
  );
}
