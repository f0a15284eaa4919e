// Draws charts as SVG, in the colours of the page.
import { aS as echarts } from "./vendor/echarts.js";

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toFixed(1)}B`;
  if (size >= 1e6) return `${+(value / 1e6).toFixed(1)}M`;
  return size >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : String(value);
}

function rect(api, x, y, width, height, r) {
  return { type: "rect", shape: { x, y: y - height / 2, width, height, r }, style: { fill: api.visual("color") }, emphasisDisabled: true };
}

function span(_, api) {
  const from = api.coord([api.value(1), api.value(0)]);
  const to = api.coord([api.value(2), api.value(0)]);
  return rect(api, from[0], from[1], Math.max(2, to[0] - from[0]), Math.min(18, api.size([0, 1])[1] * 0.6), 2);
}

function instant(_, api) {
  const at = api.coord([api.value(1), api.value(0)]);
  return rect(api, at[0] - 1, at[1], 2, Math.min(24, api.size([0, 1])[1] * 0.8), 0);
}

const whole = (value) => Math.round(value).toLocaleString("en-US");
// Functions for options whose name begins with a colon, such as `:formatter`.
const FUNCTIONS = {
  dollars: (value) => `$${+value.toPrecision(3)}`,
  instant,
  short,
  span,
  tokens: (value) => `${whole(value)} tokens`,
  whole,
};

function resolve(options) {
  if (options === null || typeof options !== "object") return;
  for (const [name, value] of Object.entries(options)) {
    if (name.startsWith(":")) options[name.slice(1)] = FUNCTIONS[value];
    else resolve(value);
  }
}

export function draw(element, { options, height, label, hidden }) {
  element.hidden = hidden;
  element.style.height = `${height}px`;
  element.setAttribute("aria-label", label);
  if (hidden) return;
  if (!element.chart) {
    element.chart = echarts.init(element, null, { renderer: "svg" });
    new ResizeObserver(() => element.hidden || element.chart.resize()).observe(element);
  }
  resolve(options);
  const drawn = element.chart.getOption()?.series?.length;
  element.chart.setOption(options, { notMerge: drawn !== options.series?.length });
}
