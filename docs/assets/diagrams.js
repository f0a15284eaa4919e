// Renders the Mermaid diagrams of a page in the colours of its palette.
import { mermaid } from "./mermaid/index.js";

const dark = () => document.body.getAttribute("data-md-color-scheme") === "slate";
const sources = [...document.querySelectorAll("pre.diagram")].map((box) => [box, box.textContent]);

async function draw() {
  mermaid.initialize({ startOnLoad: false, theme: dark() ? "dark" : "neutral", fontFamily: "inherit" });
  for (const [index, [box, source]] of sources.entries()) {
    const { svg } = await mermaid.render(`diagram-${index}`, source);
    const drawn = Object.assign(document.createElement("div"), { className: "diagram", innerHTML: svg });
    box.replaceWith(drawn);
    sources[index][0] = drawn;
  }
}

if (sources.length) {
  await draw();
  new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}
