"use strict";
window.errorsSeen = [];
window.addEventListener("error", (event) => window.errorsSeen.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => window.errorsSeen.push(String(event.reason)));
for (const level of ["error", "warn"]) {
  console[level] = (...words) => window.errorsSeen.push(words.join(" "));
}
