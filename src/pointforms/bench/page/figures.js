"use strict";
// Figures: drawn by plotly when they come into view, in the colours of the page's style.

const FAMILY_MARKS = {
  "point-forms": ["@ours", "circle"],
  classical: ["@c1", "square"],
  point: ["@c2", "diamond"],
  graph: ["@c3", "triangle-up"],
  topological: ["@c4", "cross"],
  "fixed forms": ["@c5", "x"],
  other: ["@base", "star"],
};

function pageColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function colorScale() {
  return [
    [0, pageColor("negative")],
    [0.5, pageColor("middle")],
    [1, pageColor("positive")],
  ];
}

// A copy with every color that is a name, such as "@ours", put in.
function inColor(value, key) {
  if (Array.isArray(value)) return value.map((one) => inColor(one, null));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inColor(v, k)]));
  }
  if (key === "colorscale" && value === "@diverging") return colorScale();
  if (key === "color" && typeof value === "string" && value[0] === "@") {
    return pageColor(value.slice(1));
  }
  return value;
}

function styledLayout(layout, element) {
  const ink = pageColor("ink");
  const grid = pageColor("grid");
  const family = getComputedStyle(document.body).fontFamily;
  const found = inColor(layout, null);
  for (const name of ["xaxis", "yaxis"]) {
    found[name] = { gridcolor: grid, linecolor: grid, zerolinecolor: grid, ...found[name] };
  }
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink, size: 12, family },
    hoverlabel: {
      bgcolor: pageColor("raised"),
      bordercolor: pageColor("line"),
      font: { color: ink, family },
    },
    modebar: {
      bgcolor: "rgba(0,0,0,0)",
      color: pageColor("line"),
      activecolor: pageColor("accent"),
    },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    hovermode: "closest",
    ...found,
    height: element.clientHeight,
  };
}

// Buttons by name: plotly's own choice has one that sends the data of a figure to a server.
const SETTINGS = {
  displaylogo: false,
  responsive: true,
  plotlyServerURL: "",
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
};

function describe(element) {
  return element.id === "scatter" ? scatter() : report.plots[Number(element.dataset.plot)];
}

// The library waits as text, and runs once, when the first figure is drawn.
function needPlotly() {
  if (window.Plotly) return;
  const script = document.createElement("script");
  script.textContent = document.getElementById("plotly-source").textContent;
  document.head.append(script);
}

function draw(element) {
  needPlotly();
  const { data, layout } = describe(element);
  element.classList.add("drawn");
  return Plotly.react(element, inColor(data, null), styledLayout(layout, element), SETTINGS);
}

function redrawAll() {
  for (const element of document.querySelectorAll(".figure.drawn")) draw(element);
}

// Fits of the chosen task against what was chosen, a trace a family.
function scatter() {
  const { rows, models, families, row, fold, seed, auroc } = report.fits;
  const task = Number(document.getElementById("scatter-task").value);
  const axis = document.getElementById("scatter-axis");
  const values = report.fits[axis.value];
  const traces = new Map();
  let shown = 0;
  row.forEach((r, i) => {
    if (rows.task[r] !== task || auroc[i] === null || !(values[i] > 0)) return;
    const family = families[rows.model[r]];
    if (!traces.has(family)) {
      const [color, symbol] = FAMILY_MARKS[family] ?? FAMILY_MARKS.other;
      traces.set(family, {
        type: "scatter",
        mode: "markers",
        name: family,
        x: [],
        y: [],
        text: [],
        marker: { color, symbol, size: 7, opacity: 0.75 },
        hovertemplate: "%{text}<br>AUROC %{y:.3f}<br>%{x} " + axis.value + "<extra></extra>",
      });
    }
    const trace = traces.get(family);
    trace.x.push(values[i]);
    trace.y.push(auroc[i]);
    const options = rows.options[r] ? ` (${rows.options[r]})` : "";
    const name = `${models[rows.model[r]]}${options}`;
    trace.text.push(`${plainText(name)}<br>fold ${fold[i]}, seed ${seed[i]}`);
    shown += 1;
  });
  document.getElementById("scatter-count").textContent = `${shown} fits`;
  const order = Object.keys(FAMILY_MARKS);
  const data = [...traces.values()].sort((a, b) => order.indexOf(b.name) - order.indexOf(a.name));
  const layout = {
    xaxis: {
      ...logTicks(data.flatMap((trace) => trace.x)),
      title: { text: axis.selectedOptions[0].textContent, standoff: 8 },
    },
    yaxis: { title: { text: "AUROC" }, zeroline: false },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "reversed" },
    margin: { t: 34, r: 12, b: 46, l: 54 },
    showlegend: true,
  };
  return { data, layout };
}

// 1, 2, 5 of every decade, written out; powers of ten where there are many.
function logTicks(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(low <= high)) return { type: "log" };
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const tickvals = [];
  for (let k = first; k <= last; k += 1) {
    for (const step of last - first > 3 ? [1] : [1, 2, 5]) {
      tickvals.push(Number(`${step}e${k}`));
    }
  }
  const ticktext = tickvals.map((value) => value.toLocaleString("en").replaceAll(",", " "));
  return { type: "log", tickvals, ticktext };
}

// Plotly reads some tags in text; names are shown as they are.
function plainText(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function setUpFigures() {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    },
    { rootMargin: "300px 0px" },
  );
  for (const element of document.querySelectorAll(".figure")) seen.observe(element);
  for (const name of ["scatter-task", "scatter-axis"]) {
    document.getElementById(name).addEventListener("change", () => {
      draw(document.getElementById("scatter"));
    });
  }
  addEventListener("beforeprint", () => {
    for (const element of document.querySelectorAll(".figure:not(.drawn)")) draw(element);
  });
}

setUpFigures();
