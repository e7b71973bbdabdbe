"use strict";
// A timeline shows the part that a reader has dragged across.
for (const timeline of document.querySelectorAll("svg.timeline")) {
  const plot = timeline.querySelector(".plot");
  const axis = timeline.querySelector(".axis");
  const [, , span, height] = plot.getAttribute("viewBox").split(" ").map(Number);
  const end = Number(timeline.dataset.end);
  let from = 0, to = span, begun = null;
  const element = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const [left, top, width, tall] = ["x", "y", "width", "height"].map((name) => Number(plot.getAttribute(name)));
  // Round times, at most as many as the picture has room for.
  const label = () => {
    const [begin, until] = [from, to].map((at) => at / span * end);
    const [scale, unit] = until >= 1e9 ? [1e9, "s"] : until >= 1e6 ? [1e6, "ms"] : until >= 1e3 ? [1e3, "us"] : [1, "ns"];
    const rough = (until - begin) / scale / timeline.dataset.ticks;
    const decade = 10 ** Math.floor(Math.log10(rough));
    const step = decade * [1, 2, 5, 10].find((factor) => factor * decade >= rough * (1 - 1e-9));
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    axis.replaceChildren();
    let free = 0;
    for (let tick = Math.ceil(begin / scale / step - 1e-9); tick * step * scale <= until * (1 + 1e-12); tick += 1) {
      const x = left + width * (tick * step * scale - begin) / (until - begin), y = top + tall;
      const text = (tick * step).toFixed(digits) + " " + unit;
      axis.append(element("line", { x1: x, x2: x, y1: y, y2: y + 4, stroke: "#9a9a9a" }));
      // Long numbers have fewer texts.
      if (x - text.length * 4 < free) continue;
      free = x + text.length * 4 + 6;
      const written = element("text", { x, y: y + 18, "text-anchor": "middle" });
      written.textContent = text;
      axis.append(written);
    }
  };
  const original = [...axis.childNodes];
  const show = () => {
    plot.setAttribute("viewBox", `${from} 0 ${to - from} ${height}`);
    if (from === 0 && to === span) axis.replaceChildren(...original);
    else label();
  };
  const place = (event) => {
    const box = plot.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return from + part * (to - from);
  };
  const chosen = element("rect", { height, class: "chosen" });
  const choose = (low, high) => {
    chosen.setAttribute("x", low);
    chosen.setAttribute("width", high - low);
  };
  plot.append(chosen);
  plot.addEventListener("pointermove", (event) => {
    if (begun !== null) choose(Math.min(begun, place(event)), Math.max(begun, place(event)));
  });
  plot.addEventListener("pointercancel", () => {
    begun = null;
    choose(0, 0);
  });
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    begun = place(event);
    plot.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  plot.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const [low, high] = [begun, place(event)].sort((a, b) => a - b);
    begun = null;
    choose(0, 0);
    // A click is no drag, and a picosecond nothing to see.
    if (high - low < (to - from) / 200 || (high - low) / span * end < 1) return;
    [from, to] = [low, high];
    show();
  });
  plot.addEventListener("dblclick", () => {
    [from, to] = [0, span];
    show();
  });
}
