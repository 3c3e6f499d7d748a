// Map of topics, word cloud and typical articles.

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

// Figures are drawn for a whole page. In a narrower map, enlarge the texts: numbers as far as they
// fit into their circles and do not touch each other, other texts as far as they fit into the map.
function keepLegible(svg) {
  const texts = findAll("text", svg).map((text) => {
    const size = parseFloat(getComputedStyle(text).fontSize);
    const circle = find("circle", text.closest("[data-gid]") ?? text);
    const isInside = circle && text.style.textAnchor === "middle";
    return { text, size, circle: isInside && circle, dy: parseFloat(text.getAttribute("dy")) || 0 };
  });
  const fit = () => {
    const shrunk = svg.viewBox.baseVal.width / svg.clientWidth;
    if (!Number.isFinite(shrunk)) return;
    for (const { text, size, dy } of texts) {
      text.style.fontSize = `${size}px`;
      text.setAttribute("dy", dy);
    }
    const edge = svg.getBoundingClientRect().right;
    const boxes = texts.map(({ text }) => text.getBoundingClientRect());
    const numbers = boxes.filter((_, i) => texts[i].circle);
    const factors = texts.map(({ circle }, i) => {
      if (!circle) {
        const room = (0.98 * (edge - boxes[i].left)) / boxes[i].width; // fonts do not scale evenly
        return Math.min(room, 1.25, Math.max(1, shrunk));
      }
      const others = numbers.filter((box) => box !== boxes[i]);
      const room = others.map((box) => roomBetween(box, boxes[i]));
      room.push(roomInside(boxes[i], circle.getBoundingClientRect()));
      return Math.max(1, Math.min(...room, 1.7, shrunk));
    });
    texts.forEach(({ text, size, dy }, i) => {
      text.style.fontSize = `${size * factors[i]}px`;
      text.setAttribute("dy", dy + 0.35 * size * (factors[i] - 1));
    });
  };
  new ResizeObserver(fit).observe(svg);
}

// By how much two texts can grow until they touch; a line is higher than its digits.
function roomBetween(one, other) {
  const [x, y] = between(one, other);
  const [width, height] = [one.width + other.width, 0.8 * (one.height + other.height)];
  return Math.max((2 * x) / width, (2 * y) / height);
}

// By how much a text can grow until a corner touches its circle.
function roomInside(box, circle) {
  const away = Math.hypot(...between(box, circle));
  return (circle.width / 2 - away) / (Math.hypot(box.width, 0.7 * box.height) / 2);
}

function between(one, other) {
  const x = one.left - other.left + (one.width - other.width) / 2;
  const y = one.top - other.top + (one.height - other.height) / 2;
  return [Math.abs(x), Math.abs(y)];
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
