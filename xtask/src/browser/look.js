"use strict";
{
  const figures = [...document.querySelectorAll("figure")];
  // Rows for which there is no room are measured, too.
  for (const details of document.querySelectorAll("details")) details.open = true;
  // Charts are drawn for two widths, of which the style shows one.
  const pictures = [...document.querySelectorAll("figure svg")].filter((svg) =>
    !svg.parentElement.closest("svg") && svg.getClientRects().length > 0);
  const shown = (figure) => pictures.filter((svg) => figure.contains(svg));
  const empty = figures.filter((figure) => {
    const [svg, ...more] = shown(figure);
    const box = svg && svg.getBoundingClientRect();
    return !box || more.length > 0 || box.width < 50 || box.height < 20;
  });
  const inside = (inner, outer, room) => inner.left >= outer.left - room && inner.right <= outer.right + room
    && inner.top >= outer.top - room && inner.bottom <= outer.bottom + room;
  // Boxes of texts are a line high, so glyphs have air above and below.
  const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4;
  const faults = [];
  let measured = 0;
  for (const svg of pictures) {
    const id = svg.closest("figure").id;
    const whole = svg.getBoundingClientRect();
    const zoom = whole.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll("text")].map((text) => ({ text, box: text.getBoundingClientRect() }));
    texts.forEach(({ text, box }, number) => {
      measured += 1;
      const name = `${id}: "${text.textContent.trim()}"`;
      const size = parseFloat(getComputedStyle(text).fontSize) * zoom;
      if (size < 13) faults.push(`${name} is ${size.toFixed(1)} px high`);
      if (!inside(box, whole, 1)) faults.push(`${name} is not within its picture`);
      for (const other of texts.slice(number + 1)) {
        if (touch(box, other.box)) faults.push(`${name} overlaps "${other.text.textContent.trim()}"`);
      }
    });
    const areas = [...svg.querySelectorAll(".area")].map((area) => area.getBoundingClientRect());
    for (const mark of svg.querySelectorAll(".line, .mark, .interval")) {
      const box = mark.getBoundingClientRect();
      // Half a mark and half a stroke may be outside; marks of a legend have no plot.
      const isDrawn = areas.some((area) => inside(box, area, 7 * zoom));
      const isLegend = areas.every((area) => box.top > area.bottom);
      if (!isDrawn && !isLegend) faults.push(`${id}: a ${mark.getAttribute("class")} is not within its plot`);
    }
  }
  // Only pictures and tables may scroll: all other text wraps.
  for (const element of document.querySelectorAll("h1, h2, h3, p, summary, figcaption, th, td")) {
    measured += 1;
    if (element.scrollWidth > element.clientWidth + 1) faults.push(`"${element.textContent.trim()}" is wider than its place`);
  }
  const data = JSON.parse(document.getElementById("data").textContent);
  const told = new Set([...data.charts, ...data.timelines].map((chart) => chart.id));
  // Pictures of fabrics bring their own ground and are no charts.
  const drawn = figures.filter((figure) => figure.classList.contains("bare")).map((figure) => figure.id);
  const timelines = pictures.filter((svg) => svg.classList.contains("timeline"));
  const plot = timelines[0] && timelines[0].querySelector(".plot");
  // A drag zooms a timeline, and a double click shows all of it again.
  const zoom = () => {
    const axis = () => [...timelines[0].querySelectorAll(".axis text")].map((tick) => tick.textContent.trim()).join();
    const before = { box: plot.getAttribute("viewBox"), axis: axis() };
    plot.setPointerCapture = () => {};
    const box = plot.getBoundingClientRect();
    const send = (type, part) => plot.dispatchEvent(new PointerEvent(type, {
      button: 0, pointerId: 1, bubbles: true, cancelable: true, clientX: box.left + part * box.width, clientY: box.top + 5,
    }));
    send("pointerdown", 0.25);
    send("pointermove", 0.4);
    send("pointerup", 0.5);
    const [from, , span] = plot.getAttribute("viewBox").split(" ").map(Number);
    const [, , whole] = before.box.split(" ").map(Number);
    const close = (a, b) => Math.abs(a - b) < whole / 100;
    const zoomed = close(from, whole / 4) && close(span, whole / 4);
    const relabelled = axis() !== before.axis;
    plot.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    const reset = plot.getAttribute("viewBox") === before.box && axis() === before.axis;
    return { zoomed, relabelled, reset };
  };
  const verdict = document.createElement("script");
  verdict.type = "application/json";
  verdict.id = "verdict";
  verdict.textContent = JSON.stringify({
    errors: window.errorsSeen,
    figures: figures.length,
    empty: empty.map((figure) => figure.id),
    measured,
    faults,
    grounds: [...document.querySelectorAll(".ground")].map((ground) => getComputedStyle(ground).fill),
    unnamed: drawn.filter((id) => !told.has(id)),
    timelines: timelines.length,
    background: getComputedStyle(document.body).backgroundColor,
    page_width: document.documentElement.scrollWidth,
    ...(plot ? zoom() : {}),
  }).replaceAll("<", "\\u003c");
  window.parent.document.body.append(verdict);
}
