// Topics of a run: the chosen topic, and its words by relevance with a slider of λ.

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
