"use strict";
// A timeline shows the part that a reader has dragged across.
for (const timeline of document.querySelectorAll("svg.timeline")) {
  const plot = timeline.querySelector(".plot");
  const ticks = [...timeline.querySelectorAll(".axis text")];
  const whole = ticks.map((tick) => tick.textContent.trim());
  const [, , span, height] = plot.getAttribute("viewBox").split(" ").map(Number);
  const end = Number(timeline.dataset.end);
  let from = 0, to = span, begun = null;
  const written = (time) => {
    const [scale, unit] = time >= 1e9 ? [1e9, "s"] : time >= 1e6 ? [1e6, "ms"] : time >= 1e3 ? [1e3, "us"] : [1, "ns"];
    const digits = Math.max(0, Math.min(6, Math.ceil(Math.log10(scale / ((to - from) / span * end)) + 2)));
    return (time / scale).toFixed(digits) + " " + unit;
  };
  const show = () => {
    plot.setAttribute("viewBox", `${from} 0 ${to - from} ${height}`);
    ticks.forEach((tick, number) => {
      const isWhole = from === 0 && to === span;
      tick.textContent = isWhole ? whole[number] : written((from + (to - from) * number / (ticks.length - 1)) / span * end);
    });
  };
  const place = (event) => {
    const box = plot.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return from + part * (to - from);
  };
  const chosen = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  chosen.setAttribute("height", height);
  chosen.setAttribute("class", "chosen");
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
