// Shows, selects and saves the charts of a page; Python computes them.
"use strict";
(() => {
  const POLL = 2000; // milliseconds between two requests to the server of a live page
  const WIDE = new Set(["moves"]);
  const MOST = 24; // the most lines with a legend: a longer one would leave no room for the chart
  const $ = (id) => document.getElementById(id);
  let state = JSON.parse($("state").textContent);
  const shown = new Map(); // the figure element and the chart, by the name of the chart
  const hidden = new Set(); // methods that are switched off

  // Data that are compressed in the page, or that the server of a live page sends.
  async function unpacked(id) {
    const bytes = Uint8Array.from(atob($(id).textContent), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }
  async function chapter(name) {
    if (!state.live) return JSON.parse(await unpacked(`chapter-${name}`));
    const answer = await fetch(`chapter/${name}`);
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }
  async function loadPlotly() {
    const script = document.createElement("script");
    script.textContent = await unpacked("plotly");
    document.head.append(script);
  }

  // Light and dark.
  const dark = () => document.documentElement.dataset.theme === "dark";
  function setTheme(name) {
    document.documentElement.dataset.theme = name;
    $("theme").setAttribute("aria-pressed", String(name === "dark"));
    for (const each of shown.values()) draw(each);
    drawMethods();
  }
  function coloured(value) {
    if (typeof value === "string") {
      const [colour, rest] = [value.slice(0, 7).toLowerCase(), value.slice(7)];
      return dark() && state.dark[colour] ? state.dark[colour] + rest : value;
    }
    if (Array.isArray(value)) return value.map(coloured);
    if (value === null || typeof value !== "object") return value;
    const keep = ["x", "y", "z", "text", "customdata", "meta", "name"];
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, each]) => [key, keep.includes(key) ? each : coloured(each)]));
  }
  function themed(layout) {
    const css = getComputedStyle(document.documentElement);
    const of = (name) => css.getPropertyValue(name).trim();
    const narrow = window.innerWidth < 760;
    const size = narrow ? 11 : 13;
    const axis = (each) => ({
      ...each,
      title: { ...each.title, font: { size }, standoff: 8 },
      gridcolor: of("--grid"),
      linecolor: of("--line"),
    });
    return {
      ...layout,
      font: { family: getComputedStyle(document.body).fontFamily, size, color: of("--ink") },
      xaxis: axis(structuredClone(layout.xaxis)), // a copy: Plotly writes the zoom into it
      yaxis: axis(structuredClone(layout.yaxis)),
      hoverlabel: { bgcolor: of("--card"), bordercolor: of("--line"), font: { color: of("--ink") } },
      autosize: true,
    };
  }

  // Charts.
  function element(tag, content = "", attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = content;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }
  function card(chart, place) {
    const figure = element("figure", "", { class: "chart", id: `chart-${chart.name}` });
    if (WIDE.has(chart.name)) figure.classList.add("wide");
    const caption = element("figcaption");
    caption.append(element("h3", chart.title), element("p", chart.text));
    const plot = element("div", "", { class: "plot", role: "img" });
    const tools = element("div", "", { class: "tools" });
    const each = { chart, place, figure, plot, caption };
    const button = (label, what, act) => {
      const made = element("button", label, { type: "button", title: what, "aria-label": `${label}: ${chart.title}` });
      made.addEventListener("click", act);
      tools.append(made);
    };
    button("Data (CSV)", "Download the data as CSV", () => save(`${chart.name}.csv`, csv(each.chart), "text/csv"));
    button("Picture (SVG)", "Download the picture as SVG", () => picture(each));
    button("Whole view", "Show the whole view again", () => {
      const whole = ([name, axis]) => (axis.range ? [`${name}.range`, [...axis.range]] : [`${name}.autorange`, axis.autorange ?? true]);
      Plotly.relayout(plot, Object.fromEntries(["xaxis", "yaxis"].map((name) => whole([name, each.chart.layout[name]]))));
    });
    figure.append(caption, plot, tools);
    if (chart.name === "moves") figure.append(follow(each));
    return each;
  }
  function draw(each) {
    const { chart, plot, caption } = each;
    const overview = each.place === "overview";
    caption.lastChild.textContent = chart.text;
    plot.setAttribute("aria-label", `${chart.title}. ${chart.text}`);
    const data = chart.data.map((trace) => ({
      ...coloured(trace),
      visible: !(overview && hidden.has(trace.meta)),
    }));
    const layout = { ...themed(chart.layout), ...legend(chart, overview ? 0 : plot.clientWidth) };
    layout.uirevision = chosen(each.place); // keeps the zoom while a run continues
    plot.style.minHeight = `${layout.height}px`;
    return Plotly.react(plot, data, layout, { responsive: true, displayModeBar: false });
  }
  // The legend, if there is room for one, is above the chart.
  function legend(chart, width) {
    const { margin, height } = chart.layout;
    const named = chart.data.filter((trace) => trace.type !== "heatmap" && trace.showlegend !== false).length;
    if (!width || named < 2 || named > MOST) return { showlegend: false, margin: { ...margin, t: 10 } };
    const columns = Math.max(1, Math.floor((width - margin.l - margin.r) / 110));
    return { showlegend: true, height: height + 19 * (Math.ceil(named / columns) - 1) };
  }
  async function fill(place, charts, wanted) {
    const box = $(place);
    for (const each of [...shown.values()].filter((each) => each.place === place)) {
      if (charts.some((chart) => chart.name === each.chart.name)) continue;
      Plotly.purge(each.plot);
      each.figure.remove();
      shown.delete(each.chart.name);
    }
    box.querySelector(".empty")?.remove();
    if (!charts.length) box.append(element("p", "There is nothing to draw yet: no round is finished.", { class: "empty" }));
    for (const chart of charts) {
      if (!shown.has(chart.name)) {
        const made = card(chart, place);
        shown.set(chart.name, made);
        box.append(made.figure);
      }
      const each = shown.get(chart.name);
      Object.assign(each, { chart });
      await draw(each);
      await new Promise((then) => setTimeout(then)); // let the browser handle events in between
      if (chosen(place) !== wanted) return; // the user has chosen something else meanwhile
    }
    document.documentElement.dataset[place] = "drawn";
  }

  // Downloads.
  function save(name, content, type) {
    const link = element("a", "", { download: name });
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000); // a slow machine may start the download late
  }
  // A downloaded picture is self-contained: with its title, its legend and the background of the theme.
  function picture({ chart, plot }) {
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
    const named = legend(chart, plot.clientWidth);
    const margin = { ...chart.layout.margin, t: named.showlegend ? 76 : 44 };
    const height = (named.height ?? chart.layout.height) + 40;
    const layout = { ...plot.layout, ...named, margin, height, title: { text: chart.title, x: 0.02 }, paper_bgcolor: paper };
    return Plotly.downloadImage({ data: plot.data, layout }, { format: "svg", filename: chart.name, width: plot.clientWidth, height });
  }
  const text = (name) => new DOMParser().parseFromString(name ?? "", "text/html").documentElement.textContent;
  function csv(chart) {
    const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : (cell ?? ""));
    const lines = chart.data.filter((trace) => trace.hoverinfo !== "skip").flatMap(rows);
    const more = lines.some((line) => line.length > chart.columns.length) ? ["lowest", "highest"] : [];
    return [[...chart.columns, ...more], ...lines].map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  }
  function rows(trace) {
    const name = text(trace.name);
    if (trace.type !== "heatmap")
      return trace.x.map((x, place) => [name, x, trace.y[place], ...(trace.customdata?.[place] ?? [])]);
    const value = trace.meta === "mark" ? () => "" : (z) => z;
    return trace.z.flatMap((line, row) =>
      line.flatMap((z, column) => (z === null ? [] : [[name, text(String(trace.x[column])), text(String(trace.y[row])), value(z)]])));
  }
  function follow(each) {
    const box = element("div", "", { class: "follow" });
    const input = element("input", "", { type: "number", min: "0", id: "client", inputmode: "numeric" });
    const output = element("output", "", { for: "client" });
    input.addEventListener("input", () => { output.textContent = input.value === "" ? "" : history(each.chart, input.value); });
    box.append(element("label", "Follow a client (by its number)", { for: "client" }), input, output);
    return box;
  }
  function history(chart, client) {
    const [groups, marks] = chart.data;
    const row = groups.y.findIndex((name) => name.split(" ")[0] === client);
    if (row < 0) return `There is no client ${client} in this chart.`;
    const events = [];
    let before = null;
    groups.z[row].forEach((group, round) => {
      if (typeof marks?.z[row][round] === "number") events.push(`its data changed before round ${round}`);
      if (group !== before) events.push(`${group === null ? "no group" : `group ${group}`} from ${round ? `round ${round}` : "the start"} on`);
      before = group;
    });
    return `Client ${text(groups.y[row])}: ${events.join("; ") || "no group yet"}.`;
  }

  // Choices.
  function options(select, names, first = 0) {
    const before = select.selectedOptions[0]?.textContent;
    if ([...select.options].map((each) => each.textContent).join("\n") === names.join("\n")) return;
    select.replaceChildren(...names.map((name, place) => element("option", name, { value: place })));
    // Keep the selection, wherever it is in the new list.
    select.selectedIndex = names.includes(before) ? names.indexOf(before) : first;
  }
  // The name of the chapter that a section shows.
  function chosen(place) {
    const run = place === "overview" ? "" : `-${setting().runs[$("run").selectedIndex].chapter}`;
    return `${$("setting").selectedIndex}${run}`;
  }
  const setting = () => state.settings[Math.max(0, $("setting").selectedIndex)];
  function drawChoices() {
    options($("setting"), state.settings.map((each) => each.name));
    $("settings").hidden = state.settings.length < 2;
    options($("run"), setting().runs.map((each) => each.name), setting().first);
    drawMethods();
  }
  function drawMethods() {
    const lines = (shown.get("accuracy")?.chart.data ?? []).filter((trace) => trace.line.color);
    const styles = { solid: "solid", dash: "dashed", dot: "dotted" };
    const boxes = setting().methods.map((method) => {
      const label = element("label");
      const box = element("input", "", { type: "checkbox" });
      box.checked = !hidden.has(method);
      box.addEventListener("change", () => {
        hidden[box.checked ? "delete" : "add"](method);
        for (const each of shown.values()) if (each.place === "overview") draw(each);
      });
      const swatch = element("span", "", { class: "swatch", "aria-hidden": "true" });
      const line = lines.find((trace) => trace.meta === method)?.line;
      swatch.style.borderTopColor = line ? coloured(line.color) : "transparent";
      swatch.style.borderTopStyle = line ? styles[line.dash] : "solid";
      label.append(box, swatch, element("span", method));
      return label;
    });
    const focused = [...$("methods").querySelectorAll("input")].indexOf(document.activeElement);
    $("methods").replaceChildren($("methods").firstElementChild, ...boxes);
    if (focused >= 0) boxes[focused]?.querySelector("input").focus();
  }
  async function drawChapter(place) {
    delete document.documentElement.dataset[place];
    const wanted = chosen(place);
    const charts = await chapter(wanted);
    if (chosen(place) !== wanted) return; // the user has chosen something else meanwhile
    await fill(place, charts, wanted);
    if (place === "overview") drawMethods();
  }
  const drawAll = async () => { await drawChapter("overview"); await drawChapter("details"); };

  // A live page asks its server for news.
  let stamp = null;
  function renew(box, content) {
    const open = [...box.querySelectorAll("details")].map((each) => each.open);
    box.innerHTML = content; // rendered and escaped by the same server as the page
    box.querySelectorAll("details").forEach((each, place) => { each.open = open[place] ?? each.open; });
  }
  async function ask() {
    try {
      const answer = await fetch("state", { headers: stamp ? { "If-None-Match": stamp } : {} });
      if (answer.status === 200) {
        state = await answer.json();
        renew($("words"), state.words);
        renew($("commands"), state.commands);
        drawChoices();
        await drawAll();
        stamp = answer.headers.get("ETag"); // only now: charts that failed to draw are requested again
      } else if (answer.status !== 304) throw new Error(answer.statusText);
      $("status").textContent = state.finished ? state.status : `${state.status}, live`;
    } catch {
      $("status").textContent = `${state.status}; the server no longer answers`;
    }
    setTimeout(ask, POLL);
  }

  async function begin() {
    const preferred = matchMedia("(prefers-color-scheme: dark)");
    document.documentElement.dataset.theme = preferred.matches ? "dark" : "light";
    setTheme(document.documentElement.dataset.theme);
    $("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark"));
    preferred.addEventListener("change", () => setTheme(preferred.matches ? "dark" : "light"));
    $("setting").addEventListener("change", async () => { $("run").replaceChildren(); drawChoices(); await drawAll(); });
    $("run").addEventListener("change", () => drawChapter("details"));
    drawChoices();
    $("status").textContent = state.status;
    await loadPlotly();
    await (state.live ? ask() : drawAll());
  }
  begin().catch((error) => { $("status").textContent = `The charts cannot be drawn (${error.message}): try a newer browser.`; });
})();
