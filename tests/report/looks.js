({
  // For each visible piece of text its colour, what lies behind it, and whether it is large.
  texts() {
    const parsed = (colour) => {
      const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
      return [r, g, b, a];
    };
    const over = ([r, g, b, a], under) => [r, g, b].map((each, place) => each * a + under[place] * (1 - a));
    const above = (element) => (element ? [...above(element.parentElement), element] : []);
    const behind = (element) =>
      above(element).map((each) => parsed(getComputedStyle(each).backgroundColor)).reduce((under, layer) => over(layer, under), [255, 255, 255]);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent.trim();
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      if (!text || !box.width || !box.height || style.visibility === "hidden") continue;
      if (element.closest("script, style, noscript, option, .skip")) continue;
      if (element.closest(".hm")) continue; // on a picture: told from the palette
      const svg = element instanceof SVGElement;
      const colour = parsed(svg ? style.fill : style.color);
      for (const each of above(element)) colour[3] *= Number(getComputedStyle(each).opacity);
      if (svg) colour[3] *= Number(style.fillOpacity);
      const under = behind(element);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      found.push({ text, colour: over(colour, under), under, large });
    }
    return found;
  },

  // Pairs of texts in the same chart that lie on each other.
  overlaps() {
    const apart = (a, b) => a.right - 2 < b.left || b.right - 2 < a.left || a.bottom - 3 < b.top || b.bottom - 3 < a.top;
    return [...document.querySelectorAll(".plot")].flatMap((plot) => {
      const texts = [...plot.querySelectorAll("text")]
        .filter((each) => each.textContent.trim() && !each.closest(".hm"))
        .map((each) => ({ words: each.textContent, box: each.getBoundingClientRect() }))
        .filter((each) => each.box.width && each.box.height);
      return texts.flatMap((one, place) =>
        texts.slice(place + 1).filter((other) => !apart(one.box, other.box)).map((other) => `${plot.parentElement.id}: ${one.words} / ${other.words}`));
    });
  },

  // What has the focus, and how much could have it.
  focused() {
    const each = document.activeElement;
    return each === document.body ? "" : `${each.tagName} ${each.id || each.getAttribute("aria-label") || each.parentElement.textContent}`;
  },
  // As in the beginning: the next that a key reaches is the first of the page.
  unfocus() {
    scrollTo(0, 0);
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
    document.body.blur();
  },
  reachable() {
    return [...document.querySelectorAll("a[href], button, input, select, summary")].filter((each) => each.checkVisibility()).length;
  },
})
