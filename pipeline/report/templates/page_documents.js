// A held-out document with its words marked by topic: colour and kind of underline.

const N_COLOURS = 6;
const HEADING = /^(={2,6})[ \t]*(\S.*?)[ \t]*\1[ \t]*$/gm;

// Text between words, with headings without their `=` signs. Words of headings are not counted.
function withHeadings(text) {
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(HEADING)) {
    nodes.push(text.slice(end, found.index), make("strong", { class: "heading" }, found[2]));
    end = found.index + found[0].length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

function startDocuments(run, panel, explorer, moved) {
  const box = part(panel, "document-text");
  if (!box) return { choose() {}, emphasise() {}, index: () => null };
  let index = 0;
  const titles = run.documents.map((each) => plain(each.title));
  const show = chooser(panel, "document", titles, (next) => {
    if (!run.documents[next]) return;
    choose(next);
    announce(`Document ${plain(run.documents[next].title)}`);
    moved();
  });
  box.addEventListener("click", (event) => {
    const word = event.target.closest("[data-topic]");
    if (word) explorer.choose(Number(word.dataset.topic));
  });

  function choose(next) {
    index = next;
    show(index);
    const shown = run.documents[index];
    const topics = pairsOf(shown.topics);
    const colourOf = new Map(topics.slice(0, N_COLOURS).map(([number], i) => [number, i + 1]));
    part(panel, "document-name").replaceChildren(outside(shown.url, shown.title));
    part(panel, "document-citation").replaceChildren(...citation(shown.title, shown.url, run.licence));
    const words = (n) => `${n.toLocaleString("en")} ${n === 1 ? "word" : "words"}`;
    part(panel, "document-facts").textContent =
      `${words(shown.tokens)} of the vocabulary` +
      (shown.unknown ? `; ${words(shown.unknown)} that the model does not know` : "") +
      ". Every marked word has the colour of its most probable topic, fainter if that topic is less" +
      " certain; click a word to choose its topic.";
    showLegend(topics, colourOf);
    showText(shown, colourOf);
    showWords(shown);
    part(panel, "document-end").textContent = [
      shown.isCut ? "The document continues." : "",
      shown.isText ? "" : "The article's text is not available; its words are listed alphabetically.",
    ]
      .join(" ")
      .trim();
    emphasise(explorer.number());
  }

  function showLegend(topics, colourOf) {
    part(panel, "legend").replaceChildren(
      ...topics.map(([number, share]) => {
        const colour = colourOf.get(number) ?? 0;
        const swatch = make("span", { class: `marked c${colour} sure-4`, "aria-hidden": "true" }, "abc");
        const button = make(
          "button",
          { type: "button", "data-topic": number },
          swatch,
          ` ${explorer.nameOf(number)} `,
          make("span", { class: "aside" }, percent(share)),
        );
        button.addEventListener("click", () => explorer.choose(number));
        return make("li", {}, button);
      }),
    );
  }

  function showText(shown, colourOf) {
    const nodes = document.createDocumentFragment();
    shown.pieces.forEach((piece, i) => {
      if (i % 2 === 0) {
        nodes.append(...withHeadings(piece));
        return;
      }
      const at = (i - 1) / 2;
      const topic = shown.wordTopics[at];
      const tenths = Number(shown.certainty[at]);
      const level = 1 + [4, 6, 8].filter((edge) => tenths >= edge).length;
      const word = make("span", { class: `marked c${colourOf.get(topic) ?? 0} sure-${level}` }, piece);
      word.dataset.topic = topic;
      word.title = `Topic ${explorer.nameOf(topic)}, ${10 * tenths} to ${10 * tenths + 10}\u00a0% sure`;
      nodes.append(word);
    });
    box.replaceChildren(nodes);
  }

  // The same as text, for readers who do not see colours or have no pointer.
  function showWords(shown) {
    const ofTopic = new Map();
    shown.wordTopics.forEach((topic, at) => {
      if (!ofTopic.has(topic)) ofTopic.set(topic, new Map());
      const word = shown.pieces[2 * at + 1];
      ofTopic.get(topic).set(word, (ofTopic.get(topic).get(word) ?? 0) + 1);
    });
    const most = (words) => [...words.values()].reduce((sum, n) => sum + n, 0);
    const rows = [...ofTopic].sort((a, b) => most(b[1]) - most(a[1]));
    part(panel, "document-words").replaceChildren(
      ...rows.map(([topic, words]) => {
        const button = make("button", { type: "button", class: "link" }, explorer.nameOf(topic));
        button.addEventListener("click", () => explorer.choose(topic));
        const listed = [...words].sort((a, b) => b[1] - a[1]);
        const text = listed.map(([word, n]) => (n > 1 ? `${word} (${n})` : word)).join(", ");
        return make("div", {}, make("dt", {}, button), make("dd", { dir: "auto" }, text));
      }),
    );
  }

  function emphasise(number) {
    for (const each of findAll(".legend [data-topic]", panel)) {
      each.setAttribute("aria-pressed", Number(each.dataset.topic) === number);
    }
    for (const each of findAll("[data-topic]", box)) {
      each.classList.toggle("chosen", Number(each.dataset.topic) === number);
    }
  }

  return { choose, emphasise, index: () => index };
}
