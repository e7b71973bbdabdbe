"use strict";
// A timeline shows the part that a reader has dragged across.
for (const timeline of document.querySelectorAll("svg.timeline")) {
  const plot = timeline.querySelector(".plot");
  const ticks = [...timeline.querySelectorAll(".axis text")];
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
      tick.textContent = written((from + (to - from) * number / (ticks.length - 1)) / span * end);
    });
  };
  const place = (event) => {
    const box = plot.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return from + part * (to - from);
  };
  plot.addEventListener("pointerdown", (event) => {
    begun = place(event);
    plot.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  plot.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const [low, high] = [begun, place(event)].sort((a, b) => a - b);
    begun = null;
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
